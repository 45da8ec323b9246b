package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// machine describes what the figures were measured on; dir is on the disk in question.
func machine(dir, bin string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cpu      %s, %d cores\n", field("/proc/cpuinfo", "model name"), runtime.NumCPU())
	fmt.Fprintf(&b, "memory   %s\n", field("/proc/meminfo", "MemTotal"))
	var u syscall.Utsname
	if syscall.Uname(&u) == nil {
		fmt.Fprintf(&b, "kernel   %s %s\n", chars(u.Sysname[:]), chars(u.Release[:]))
	}
	fmt.Fprintf(&b, "go       %s (this program)\n", runtime.Version())
	if p50, p99, err := syncCost(dir); err == nil {
		fmt.Fprintf(&b, "disk     append 4 KiB + fdatasync: p50 %v, p99 %v\n", p50.Round(time.Microsecond), p99.Round(time.Microsecond))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Fprintf(&b, "load     %s before the start\n", strings.Join(strings.Fields(string(load))[:3], " "))
	}
	if raw, err := os.ReadFile(bin); err == nil {
		fmt.Fprintf(&b, "server   %s, %.1f MB, sha256 %.12x\n", filepath.Base(bin), float64(len(raw))/1e6, sha256.Sum256(raw))
	}
	fmt.Fprintf(&b, "when     %s", time.Now().UTC().Format(time.RFC3339))
	return b.String()
}

// field is the value of the first line "NAME: VALUE" of a file under /proc.
func field(path, name string) string {
	raw, _ := os.ReadFile(path)
	for line := range strings.Lines(string(raw)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

func chars[T int8 | uint8](a []T) string {
	var b strings.Builder
	for _, c := range a {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}

// syncCost appends 4 KiB and syncs, 500 times: the floor under one durable write.
func syncCost(dir string) (p50, p99 time.Duration, err error) {
	f, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return 0, 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, 4096)
	var all []time.Duration
	for range 500 {
		start := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, 0, err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return 0, 0, err
		}
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*99/100], nil
}

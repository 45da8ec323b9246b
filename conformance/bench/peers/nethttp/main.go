// Command nethttp is bare net/http over bare Pebble: GET /get/KEY reads 1 KiB, POST /set stores the body under a random key and answers
// when it is synced.
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sawhorse-dev/sawhorse/conformance/bench/peers"
)

func main() {
	dir := flag.String("data", "", "directory of the store")
	keys := flag.Int("keys", 0, "how many values of 1 KiB to store before serving")
	flag.Parse()
	db, err := peers.Open(*dir)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := preload(db, *keys); err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /get/{key}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.ParseUint(r.PathValue("key"), 10, 64)
		if err != nil {
			http.Error(w, "bad key", http.StatusBadRequest)
			return
		}
		v, closer, err := db.Get(key(n))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(v)
		closer.Close()
	})
	mux.HandleFunc("POST /set", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "bad body", http.StatusBadRequest)
			return
		}
		if err := db.Set(key(rand.Uint64()), body, pebble.Sync); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		io.WriteString(w, "stored")
	})
	if err := peers.Serve(mux); err != nil {
		log.Fatal(err)
	}
}

// key spreads n over the key space, so that neighbours in time are not neighbours on disk.
func key(n uint64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, 16), n*0x9E3779B97F4A7C15)
}

func preload(db *pebble.DB, n int) error {
	value := make([]byte, 1024)
	for i := range value {
		value[i] = byte('a' + i%26)
	}
	b := db.NewBatch()
	for i := range n {
		copy(value, fmt.Sprintf("%016d", i))
		if err := b.Set(key(uint64(i)), value, nil); err != nil {
			return err
		}
		if b.Count() == 1000 || i == n-1 {
			if err := b.Commit(pebble.NoSync); err != nil {
				return err
			}
			b = db.NewBatch()
		}
	}
	return b.Close()
}

package kv

import (
	"encoding/binary"
	"fmt"
	"testing"
)

func TestARowIsKeptOnlyByAViewThatSawEveryWrite(t *testing.T) {
	c := newRowCache()
	key := []byte("key")
	c.drop(key, 7) // an update that is applied and not yet durable
	c.put(key, Value{Bytes: []byte("old"), Rev: 3}, 6)
	if v, ok := c.get(key, newest); ok {
		t.Fatalf("a View that had not seen update 7 left %q behind", v.Bytes)
	}
	c.put(key, Value{Bytes: []byte("new"), Rev: 4}, 7)
	if v, ok := c.get(key, 4); !ok || string(v.Bytes) != "new" || v.Rev != 4 {
		t.Errorf("got %q at %d, %t", v.Bytes, v.Rev, ok)
	}
	if v, ok := c.get(key, 3); ok {
		t.Errorf("a View at 3 got the version of %d", v.Rev)
	}
	c.drop(key, 8)
	if _, ok := c.get(key, newest); ok {
		t.Error("a row outlived the update that wrote it")
	}
}

func TestTheRowsStayWithinTheirBound(t *testing.T) {
	c := newRowCache()
	for i := range uint64(100_000) {
		c.put(binary.BigEndian.AppendUint64(nil, i), Value{Bytes: make([]byte, 1000), Rev: 1}, 0)
	}
	c.put([]byte("large"), Value{Bytes: make([]byte, maxCachedRow), Rev: 1}, 0)
	if _, ok := c.get([]byte("large"), 1); ok {
		t.Error("a row above the bound was kept")
	}
	total := 0
	for i := range c.shards {
		s := &c.shards[i]
		sum := 0
		for key, v := range s.rows {
			sum += rowCost(len(key), v)
		}
		if sum != s.size || s.size > rowShardBytes {
			t.Fatalf("shard %d holds %d bytes, counts %d, may hold %d", i, sum, s.size, rowShardBytes)
		}
		total += sum
	}
	if total < rowShards*rowShardBytes/2 {
		t.Errorf("%d bytes in all: too little is kept", total)
	}
	// Writes take the rows out again, and their bytes with them.
	for i := range uint64(100_000) {
		c.drop(binary.BigEndian.AppendUint64(nil, i), i+1)
	}
	for i := range c.shards {
		if s := &c.shards[i]; s.size != 0 || len(s.rows) != 0 {
			t.Fatal(fmt.Sprint("shard ", i, " still holds ", len(s.rows), " rows, ", s.size, " bytes"))
		}
	}
}

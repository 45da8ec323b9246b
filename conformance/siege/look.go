package main

import (
	"fmt"
)

// tools are all that a siege must have had acknowledged.
var tools = []string{"create", "put_file", "append", "edit", "list", "stat", "read", "grep", "search", "aggregate", "catalog", "find", "commit", "snapshot",
	"snapshot_renew", "snapshot_retire", "snapshot_list", "restore"}

// look asks one of the reading tools, in turn, for what was acknowledged before: the server may have died in between.
func (c *client) look(i int) error {
	last := fmt.Sprintf("f%d", len(c.files)-1)
	sum := digest(c.files[len(c.files)-1])
	switch i % 6 {
	case 0:
		got, err := c.insist("list", map[string]any{"id": c.id, "section": "outputs", "limit": 1})
		if err != nil || len(got["entries"].([]any)) != 1 {
			return fmt.Errorf("list: %v %w", got, err)
		}
	case 1:
		got, err := c.insist("grep", with(c.at(last), map[string]any{"pattern": c.id + " FILE", "recursive": false}))
		if err != nil || len(got["matches"].([]any)) != 1 {
			return fmt.Errorf("grep in %s: %v %w", last, got, err)
		}
	case 2:
		got, err := c.insist("search", map[string]any{"id": c.id, "fields": []string{"generation"},
			"predicates": []any{map[string]any{"field": "body_digest_uri", "op": "eq", "value": sum}}})
		if err != nil || got["match_count"] != 1.0 {
			return fmt.Errorf("search for %s: %v %w", last, got, err)
		}
	case 3:
		got, err := c.insist("aggregate", with(c.at(last), map[string]any{"measures": []any{map[string]any{"name": "n", "op": "count"}}}))
		if err != nil || got["input_match_count"] != 1.0 {
			return fmt.Errorf("aggregate of %s: %v %w", last, got, err)
		}
	case 4:
		got, err := c.insist("catalog", map[string]any{"id": c.id})
		if err != nil || got["catalog_empty"] != false {
			return fmt.Errorf("catalog: %v %w", got, err)
		}
	case 5:
		// The workbench and its copies are committed by now.
		got, err := c.insist("find", map[string]any{"committed": true})
		if err != nil || len(got["matches"].([]any)) == 0 {
			return fmt.Errorf("find: %v %w", got, err)
		}
	}
	return nil
}

// lease renews and lists snapshots, and mints one that it retires.
func (c *client) lease(i int) error {
	if i%10 != 5 || len(c.frozen) == 0 {
		return nil
	}
	last := c.frozen[len(c.frozen)-1]
	if _, err := c.insist("snapshot_renew", map[string]any{"id": c.id, "snapshot_id": last.id, "ttl_days": 2}); err != nil {
		return err
	}
	spare, err := c.insist("snapshot", map[string]any{"id": c.id, "ttl_days": 1})
	if err != nil {
		return err
	}
	gone := spare["snapshot_id"]
	if _, err := c.insist("snapshot_retire", map[string]any{"id": c.id, "snapshot_id": gone}); err != nil {
		return err
	}
	listed, err := c.insist("snapshot_list", map[string]any{"id": c.id})
	if err != nil {
		return err
	}
	states := map[any]any{}
	for _, s := range listed["snapshots"].([]any) {
		states[s.(map[string]any)["snapshot_id"]] = s.(map[string]any)["state"]
	}
	if states[gone] != "retired" || states[last.id] != "alive" {
		return fmt.Errorf("snapshot %v was retired and %v renewed: %v", gone, last.id, states)
	}
	return nil
}

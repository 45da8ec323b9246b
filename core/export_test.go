package core

import "context"

// Tidy reaps what the history window no longer keeps, and collects bodies that
// became loose.
func (c *Core) Tidy(ctx context.Context) error {
	if _, err := c.kv.Reap(ctx); err != nil {
		return err
	}
	_, err := c.bodies.Collect(ctx)
	return err
}

// Recover takes to its end what was left unfinished.
func (c *Core) Recover(ctx context.Context) error { return c.workbench.Recover(ctx) }

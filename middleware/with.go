package middleware

// With is a Middleware with another configuration that shares with m all that m
// knows and does: held checkpoints, counts, learned windows, the bytes in flight,
// draining, what goes on beside requests. So a configuration is changed by making
// another Middleware and handing it the requests that begin from then on: those
// that run keep m, and with it the configuration that they began with, and so do
// the attempts that they began. The error reports all problems of c at once, and
// nothing has changed then. Drain, Wait and what tells of the process (Recent,
// Drop, Summarizer, BytesInFlight) do the same on either.
//
// Of c, Upstream, Store, Coordinator, Transport, Learned, Logger, Observer and
// TracerProvider are not looked at: those of New stay. Book is m's if nil, else it
// must come from m's by its own With. Another Memory bounds the requests that begin
// from then on, and counts the bytes of all. Another TenantHeader or TenantSecret makes tenants,
// and so their conversations, new ones.
func (m *Middleware) With(c Config) (*Middleware, error) {
	own := m.cfg
	c.Upstream, c.Store, c.Coordinator, c.Transport = own.Upstream, own.Store, own.Coordinator, own.Transport
	c.Learned, c.Logger, c.Observer, c.TracerProvider = own.Learned, own.Logger, own.Observer, own.TracerProvider
	if c.Book == nil {
		c.Book = own.Book
	}
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Middleware{
		cfg:     c,
		tenancy: newTenancy(c.TenantHeader, c.TenantSecret),
		budget:  m.budget.with(c.Memory),
		resting: m.resting.carried(own.Routes, c.Routes),
		memory:  m.memory,
	}, nil
}

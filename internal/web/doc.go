// Package web is the agent's HTTP server: metrics, the agent's own health, and the read API over
// the timelines. It holds no state: every answer is made from a snapshot taken while the request
// waits. It changes nothing. Who may read is up to Config.Access, Config.LocalOnly and
// Config.WebConfigFile; without them it knows no user, and whoever reaches the address may read all
// of it.
package web

// Package agentimage looks at the archives that image.sh makes of the agent.
package agentimage

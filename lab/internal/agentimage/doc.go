// Package agentimage inspects the archives of the agent's image that image.sh builds.
package agentimage

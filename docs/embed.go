// Package docs holds the documents that the agent serves: the OpenAPI document and the schema of records.
package docs

import _ "embed"

// OpenAPI is the OpenAPI 3.1 document of the agent's HTTP server. The document contains relative links to the file of
// RecordsSchema.
//
//go:embed openapi.json
var OpenAPI []byte

// RecordsSchema is the JSON schema of timeline records.
//
//go:embed records.schema.json
var RecordsSchema []byte

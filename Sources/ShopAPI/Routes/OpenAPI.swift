/// The description of the API (OpenAPI 3.1), from openapi.json. OpenAPITests compares it with the routes.
enum OpenAPI {
    static let text = String(decoding: EmbeddedFiles.openapi_json, as: UTF8.self)
}

/// The description of the interface (OpenAPI 3.1), from the file openapi.json. A test holds it against the routes.
enum OpenAPI {
    static let text = String(decoding: PackageResources.openapi_json, as: UTF8.self)
}

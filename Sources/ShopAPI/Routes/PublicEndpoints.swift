import HTTPServing
import HTTPTypes
import Hummingbird
import NIOCore

/// The routes without a key: health, and the API description.
struct PublicEndpoints: Sendable {
    let store: ShopStore
    let admission: Admission

    func add(to routes: inout Routes) {
        routes.on(.get, "/livez", livez)
        routes.on(.get, "/readyz", readyz)
        routes.on(.get, "/openapi.json", openAPI)
    }

    /// Answers 200 without any check: an answer proves that the process is alive.
    @Sendable private func livez(_ request: Request, _ values: PathValues) async throws(Problem) -> Response {
        Self.response("alive\n", "text/plain; charset=utf-8")
    }

    /// Answers 200 when the database answers role `appstore_api` and the process accepts requests.
    @Sendable private func readyz(_ request: Request, _ values: PathValues) async throws(Problem) -> Response {
        if admission.isClosed { throw .shuttingDown }
        _ = try await store.scope(ofKey: [])
        return Self.response("ready\n", "text/plain; charset=utf-8")
    }

    @Sendable private func openAPI(_ request: Request, _ values: PathValues) async throws(Problem) -> Response {
        Self.response(OpenAPI.text, "application/json")
    }

    private static func response(_ text: String, _ mediaType: String) -> Response {
        Response(status: .ok, headers: [.contentType: mediaType], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

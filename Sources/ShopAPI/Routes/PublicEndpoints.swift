import HTTPServing
import HTTPTypes
import Hummingbird
import NIOCore

/// The routes that need no key: health, and the description of the others.
struct PublicEndpoints: Sendable {
    let store: ShopStore
    let admission: Admission

    func add(to routes: inout Routes) {
        routes.on(.get, "/livez", livez)
        routes.on(.get, "/readyz", readyz)
        routes.on(.get, "/openapi.json", openAPI)
    }

    /// Touches nothing: that an answer comes is the answer.
    @Sendable private func livez(_ request: Request, _ values: PathValues) async throws(Problem) -> Response {
        Self.response("alive\n", "text/plain; charset=utf-8")
    }

    /// Answers 200 when the database answers the interface's role and the process takes requests.
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

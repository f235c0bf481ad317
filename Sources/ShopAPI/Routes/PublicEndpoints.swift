import HTTPServing
import NIOHTTP1

/// The routes without a key: health, and the API description.
struct PublicEndpoints: Sendable {
    let store: ShopStore
    let admission: Admission

    func add(to routes: inout Routes) {
        routes.on(.GET, "/livez", livez)
        routes.on(.GET, "/readyz", readyz)
        routes.on(.GET, "/openapi.json", openAPI)
    }

    /// Answers 200 without any check: an answer proves that the process is alive.
    @Sendable private func livez(_ request: Request) async throws(Problem) -> Response {
        Response(text: "alive\n")
    }

    /// Answers 200 when the database answers role `appstore_api` and the process accepts requests.
    @Sendable private func readyz(_ request: Request) async throws(Problem) -> Response {
        if admission.isShuttingDown { throw .shuttingDown }
        _ = try await store.scope(ofKey: [])
        return Response(text: "ready\n")
    }

    @Sendable private func openAPI(_ request: Request) async throws(Problem) -> Response {
        Response(text: OpenAPI.text, mediaType: "application/json")
    }
}

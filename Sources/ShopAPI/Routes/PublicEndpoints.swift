import HTTPServing
import NIOHTTP1

/// The routes without a key: health, and the API description.
struct PublicEndpoints: Sendable {
    let store: ShopStore
    let admission: Admission

    func add(to routes: inout Routes) {
        // Ready when the database answers role `appstore_api` and the process accepts requests.
        HealthEndpoints { () throws(Problem) in
            if admission.isShuttingDown { throw .shuttingDown }
            _ = try await store.scope(ofKey: [])
        }.add(to: &routes)
        routes.on(.GET, "/openapi.json", openAPI)
    }

    @Sendable private func openAPI(_ request: Request) async throws(Problem) -> Response {
        Response(text: OpenAPI.text, mediaType: "application/json")
    }
}

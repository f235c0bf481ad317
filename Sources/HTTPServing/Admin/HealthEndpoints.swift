import NIOHTTP1

/// The endpoints for liveness and readiness.
package struct HealthEndpoints: Sendable {
    private let checkReadiness: @Sendable () async throws(Problem) -> Void

    /// - Parameter checkReadiness: throws when the process cannot work.
    package init(checkReadiness: @escaping @Sendable () async throws(Problem) -> Void) {
        self.checkReadiness = checkReadiness
    }

    /// Adds `/livez` and `/readyz`.
    package func add(to routes: inout Routes) {
        routes.on(.GET, "/livez", livez)
        routes.on(.GET, "/readyz", readyz)
    }

    /// Answers 200 without any check: an answer proves that the process is alive.
    @Sendable private func livez(_ request: Request) async throws(Problem) -> Response {
        Response(text: "alive\n")
    }

    /// Answers 200 when the process can work.
    @Sendable private func readyz(_ request: Request) async throws(Problem) -> Response {
        try await checkReadiness()
        return Response(text: "ready\n")
    }
}

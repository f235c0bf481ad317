import HTTPTypes
import Hummingbird
import NIOCore

/// The endpoints for liveness and readiness.
package struct HealthEndpoints: Sendable {
    private let checkReadiness: @Sendable () async throws(Problem) -> Void

    /// - Parameter checkReadiness: throws when the process cannot work.
    package init(checkReadiness: @escaping @Sendable () async throws(Problem) -> Void) {
        self.checkReadiness = checkReadiness
    }

    /// Adds `/livez` and `/readyz`.
    package func add(to routes: inout Routes) {
        routes.on(.get, "/livez", livez)
        routes.on(.get, "/readyz", readyz)
    }

    /// Answers 200 without any check: an answer proves that the process is alive.
    @Sendable private func livez(_ request: Request, _ values: PathValues) async throws(Problem) -> Response {
        Response(text: "alive\n")
    }

    /// Answers 200 when the process can work.
    @Sendable private func readyz(_ request: Request, _ values: PathValues) async throws(Problem) -> Response {
        try await checkReadiness()
        return Response(text: "ready\n")
    }
}

extension Response {
    /// Status 200 with a text body.
    init(text: String, mediaType: String = "text/plain; charset=utf-8") {
        self.init(status: .ok, headers: [.contentType: mediaType], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

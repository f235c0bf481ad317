import HTTPTypes
import Hummingbird
import NIOCore

/// Tells whether the process lives, and whether it can do its work.
package struct HealthEndpoints: Sendable {
    private let checkReadiness: @Sendable () async throws(Problem) -> Void

    /// - Parameter checkReadiness: throws why the process cannot do its work now.
    package init(checkReadiness: @escaping @Sendable () async throws(Problem) -> Void) {
        self.checkReadiness = checkReadiness
    }

    /// Adds `/livez` and `/readyz`.
    package func add(to routes: inout Routes) {
        routes.on(.get, "/livez", livez)
        routes.on(.get, "/readyz", readyz)
    }

    /// Touches nothing: that an answer comes is the answer.
    @Sendable private func livez(_ request: Request, _ values: PathValues) async throws(Problem) -> Response {
        Response(text: "alive\n")
    }

    /// Answers 200 when the process can do its work.
    @Sendable private func readyz(_ request: Request, _ values: PathValues) async throws(Problem) -> Response {
        try await checkReadiness()
        return Response(text: "ready\n")
    }
}

extension Response {
    /// Status 200 with a text.
    init(text: String, mediaType: String = "text/plain; charset=utf-8") {
        self.init(status: .ok, headers: [.contentType: mediaType], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

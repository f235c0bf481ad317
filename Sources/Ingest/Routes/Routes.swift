import HTTPTypes
import Hummingbird

/// The resources of a listener, each with the methods that it knows.
struct Routes: HTTPResponder {
    typealias Context = BasicRequestContext
    typealias Endpoint = @Sendable (Request) async throws(Problem) -> Response

    private var endpoints: [String: [HTTPRequest.Method: Endpoint]] = [:]
    private let metrics: IngestMetrics

    init(metrics: IngestMetrics) {
        self.metrics = metrics
    }

    /// Serves a path; an endpoint for GET answers HEAD as well.
    mutating func on(_ method: HTTPRequest.Method, _ path: String, _ endpoint: @escaping Endpoint) {
        endpoints[path, default: [:]][method] = endpoint
    }

    func respond(to request: Request, context: BasicRequestContext) async -> Response {
        let response: Response
        do {
            response = try await endpoint(for: request)(request)
        } catch {
            metrics.refused(error)
            response = error.response
        }
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func endpoint(for request: Request) throws(Problem) -> Endpoint {
        guard let methods = endpoints[request.uri.path] else { throw .notFound }
        let method = request.method == .head ? .get : request.method
        guard let endpoint = methods[method] else { throw .methodNotAllowed(allow: Self.allow(methods.keys)) }
        return endpoint
    }

    private static func allow(_ methods: some Sequence<HTTPRequest.Method>) -> String {
        let names = methods.flatMap { $0 == .get ? ["GET", "HEAD"] : [$0.rawValue] }
        return names.sorted().joined(separator: ", ")
    }
}

package import HTTPTypes
package import Hummingbird
import NIOHTTP1

/// The resources of a listener, each with its methods.
package struct Routes: HTTPResponder {
    package typealias Context = BasicRequestContext
    /// Answers a request. The values are those of the variable segments of the path.
    package typealias Endpoint = @Sendable (Request, PathValues) async throws(Problem) -> Response
    /// The endpoint of each method of a resource.
    private typealias Methods = [HTTPRequest.Method: Endpoint]

    /// The endpoints that answer POST on the event loop, by path.
    private(set) var eventLoopEndpoints: [String: EventLoopEndpoint] = [:]
    private var fixed: [String: Methods] = [:]
    private var variable: [(template: PathTemplate, methods: Methods)] = []
    private let metrics: ListenerMetrics

    package init(metrics: ListenerMetrics) {
        self.metrics = metrics
    }

    /// Serves a path, with variable segments in braces. An endpoint for GET answers HEAD too.
    package mutating func on(_ method: HTTPRequest.Method, _ path: String, _ endpoint: @escaping Endpoint) {
        let template = PathTemplate(path)
        if template.isFixed {
            fixed[path, default: [:]][method] = endpoint
        } else if let index = variable.firstIndex(where: { $0.template == template }) {
            variable[index].methods[method] = endpoint
        } else {
            variable.append((template, [method: endpoint]))
        }
    }

    /// Serves POST of a fixed path on the event loop, except for bodies above the usual limit.
    package mutating func onPost(_ path: String, _ endpoint: EventLoopEndpoint) {
        eventLoopEndpoints[path] = endpoint
        // Fallback when the fast path does not match: a query string, or a body above the usual limit.
        on(.post, path) { request, _ throws(Problem) in
            let fields = HTTPHeaders(request.headers.map { ($0.name.rawName, $0.value) })
            let body = try await JSONRequestBody.bytes(of: request, maximumBytes: .max)
            let problem = await withCheckedContinuation { answer in
                endpoint.handle(fields, body) { answer.resume(returning: $0) }
            }
            if let problem { throw problem }
            return Response(status: .ok)
        }
    }

    /// The methods of each path, as given to ``on(_:_:_:)``.
    package var operations: [String: Set<HTTPRequest.Method>] {
        var operations = fixed.mapValues { Set($0.keys) }
        for (template, methods) in variable { operations[template.text] = Set(methods.keys) }
        return operations
    }

    package func respond(to request: Request, context: BasicRequestContext) async -> Response {
        let response: Response
        do {
            let (endpoint, values) = try route(request)
            response = try await endpoint(request, values)
        } catch {
            metrics.refused(error)
            response = error.response
        }
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func route(_ request: Request) throws(Problem) -> (Endpoint, PathValues) {
        let (methods, values) = try resource(at: request.uri.path)
        let method = request.method == .head ? .get : request.method
        guard let endpoint = methods[method] else { throw .methodNotAllowed(allow: Self.allow(methods.keys)) }
        return (endpoint, values)
    }

    private func resource(at path: String) throws(Problem) -> (Methods, PathValues) {
        if let methods = fixed[path] { return (methods, PathValues()) }
        for (template, methods) in variable {
            if let values = try template.values(in: path) { return (methods, values) }
        }
        throw .notFound
    }

    private static func allow(_ methods: some Sequence<HTTPRequest.Method>) -> String {
        let names = methods.flatMap { $0 == .get ? ["GET", "HEAD"] : [$0.rawValue] }
        return names.sorted().joined(separator: ", ")
    }
}

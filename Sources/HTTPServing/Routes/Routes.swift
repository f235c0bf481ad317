package import HTTPTypes
package import Hummingbird
import NIOHTTP1

/// The resources of a listener, each with the methods that it knows.
package struct Routes: HTTPResponder {
    package typealias Context = BasicRequestContext
    /// Answers a request; the values are those of the path's variable segments.
    package typealias Endpoint = @Sendable (Request, PathValues) async throws(Problem) -> Response
    /// Each method that a resource knows.
    private typealias Methods = [HTTPRequest.Method: Endpoint]

    /// Who answers a POST on its connection's event loop, by path.
    private(set) var directEndpoints: [String: DirectEndpoint] = [:]
    private var fixed: [String: Methods] = [:]
    private var variable: [(template: PathTemplate, methods: Methods)] = []
    private let metrics: ListenerMetrics

    package init(metrics: ListenerMetrics) {
        self.metrics = metrics
    }

    /// Serves a path, whose variable segments are in braces; an endpoint for GET answers HEAD as well.
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

    /// Serves POST of a fixed path on the event loop of each connection, but for bodies above the listener's usual limit.
    package mutating func onPost(_ path: String, _ endpoint: DirectEndpoint) {
        directEndpoints[path] = endpoint
        // Not written exactly so, with a query for instance, or with a larger body, it comes here.
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

    /// What is served: the methods of each path, as it was given to ``on(_:_:_:)``.
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

package import NIOHTTP1

/// The resources of a listener, each with its methods.
package struct Routes: Sendable {
    private struct Resource {
        let template: PathTemplate
        /// By method. `HTTPMethod` is not hashable.
        var endpoints: [String: Endpoint] = [:]
    }

    private var fixed: [String: Resource] = [:]
    private var variable: [Resource] = []
    private let hidesUnknownPaths: Bool
    /// The fields of each answer that does not set them itself, refusals included.
    let headers: HTTPHeaders

    /// - Parameters:
    ///   - hidesUnknownPaths: true when paths may hold the name of a user, which no log may hold.
    ///   - headers: the fields of each answer that does not set them itself, refusals included.
    package init(hidesUnknownPaths: Bool = false, headers: HTTPHeaders = [:]) {
        (self.hidesUnknownPaths, self.headers) = (hidesUnknownPaths, headers)
    }

    /// Serves a path, with variable segments in braces. An endpoint for GET answers HEAD too.
    package mutating func on(_ method: HTTPMethod, _ path: String, _ endpoint: Endpoint) {
        let template = PathTemplate(path)
        if template.isFixed {
            fixed[path, default: Resource(template: template)].endpoints[method.rawValue] = endpoint
        } else if let index = variable.firstIndex(where: { $0.template == template }) {
            variable[index].endpoints[method.rawValue] = endpoint
        } else {
            variable.append(Resource(template: template, endpoints: [method.rawValue: endpoint]))
        }
    }

    /// Serves a path with an endpoint that runs in a task.
    package mutating func on(
        _ method: HTTPMethod,
        _ path: String,
        _ respond: @escaping @Sendable (Request) async throws(Problem) -> Response
    ) {
        on(method, path, .inTask(respond))
    }

    /// The methods of each path, as given to ``on(_:_:_:)``.
    package var operations: [String: Set<String>] {
        Dictionary(uniqueKeysWithValues: (Array(fixed.values) + variable).map { ($0.template.text, Set($0.endpoints.keys)) })
    }

    /// Finds the endpoint of a request, and adds the values of the variable segments to the request.
    ///
    /// - Throws: status 404 for an unknown path, 405 for a method that the resource does not support.
    func match(_ request: Request) throws(Problem) -> (Endpoint, Request) {
        let (resource, values) = try resource(at: request.path)
        let method = request.method == .HEAD ? .GET : request.method
        guard let endpoint = resource.endpoints[method.rawValue] else {
            throw .methodNotAllowed(allow: Self.allow(resource.endpoints.keys))
        }
        var request = request
        request.values = values
        return (endpoint, request)
    }

    /// What the log calls a path: the template of its resource, or the path itself, shortened.
    func place(of path: String) -> String {
        if fixed[path] != nil { return path }
        if let resource = variable.first(where: { $0.template.matches(path) }) { return resource.template.text }
        return hidesUnknownPaths ? "(unknown)" : PercentEncoding.printable(path, maximumBytes: 100)
    }

    private func resource(at path: String) throws(Problem) -> (Resource, [String: String]) {
        if let resource = fixed[path] { return (resource, [:]) }
        for resource in variable {
            if let values = try resource.template.values(in: path) { return (resource, values) }
        }
        throw .notFound
    }

    private static func allow(_ methods: some Sequence<String>) -> String {
        methods.flatMap { $0 == "GET" ? ["GET", "HEAD"] : [$0] }.sorted().joined(separator: ", ")
    }
}

/// What answers the requests of one method of a resource.
package enum Endpoint: Sendable {
    /// Takes the answer. Call it once, on any thread.
    package typealias Answer = @Sendable (Result<Response, Problem>) -> Void

    /// Runs on the event loop of the connection, without a task: for a path with thousands of requests per second. It must not block. A
    /// request whose body exceeds the usual limit runs in a task.
    case onEventLoop(@Sendable (Request, @escaping Answer) -> Void)
    /// Runs in a task of the listener.
    case inTask(@Sendable (Request) async throws(Problem) -> Response)
}

/// The path of a resource, some of whose segments are variable: `/v1/users/{user}/entitlements`.
struct PathTemplate: Hashable, Sendable {
    private enum Segment: Hashable {
        case fixed(String)
        case variable(String)
    }

    /// The template as written.
    let text: String
    private let segments: [Segment]

    init(_ text: String) {
        self.text = text
        segments = Self.split(text).map { segment in
            segment.hasPrefix("{") && segment.hasSuffix("}") ? .variable(String(segment.dropFirst().dropLast())) : .fixed(String(segment))
        }
    }

    /// True without variable segments.
    var isFixed: Bool {
        segments.allSatisfy { if case .fixed = $0 { true } else { false } }
    }

    /// True when a path has the fixed segments, and text in place of each variable one.
    fileprivate func matches(_ path: String) -> Bool {
        encodedValues(in: path) != nil
    }

    /// The values of the variable segments, percent-decoded once; nil when the path does not match. A variable segment has at least one character.
    ///
    /// - Throws: `malformedPath` when a value cannot be decoded.
    func values(in path: String) throws(Problem) -> [String: String]? {
        guard let encoded = encodedValues(in: path) else { return nil }
        var values: [String: String] = [:]
        for (name, text) in encoded {
            guard let value = PercentEncoding.decode(text) else { throw .malformedPath }
            values[name] = value
        }
        return values
    }

    private func encodedValues(in path: String) -> [(name: String, text: Substring)]? {
        let parts = Self.split(path)
        guard parts.count == segments.count else { return nil }
        var encoded: [(name: String, text: Substring)] = []
        for (segment, part) in zip(segments, parts) {
            switch segment {
            case .fixed(let text): if part != text { return nil }
            case .variable(let name): if part.isEmpty { return nil } else { encoded.append((name, part)) }
            }
        }
        return encoded
    }

    private static func split(_ path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false)
    }
}

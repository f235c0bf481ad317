import NIOCore

/// What one client may take of a server.
struct ConnectionLimits: Sendable {
    /// The longest from the first byte of a request to its last, and from the start of a connection to the first byte.
    var requestDeadline: TimeAmount = .seconds(10)
    /// The longest silence between two requests.
    var idleTimeout: TimeAmount = .seconds(60)
    /// The longest from the last byte of a request to the last of its answer.
    var answerTimeout: TimeAmount = .seconds(30)
    /// The longest that input is thrown away after a refusal, so that the client can read the refusal.
    var lingerTimeout: TimeAmount = .seconds(2)
    /// The longest that a request may still take when the server shuts down.
    var shutdownGrace: TimeAmount = .seconds(10)
    /// The most bytes in a body, but under the paths that have a limit of their own.
    var maximumBodyBytes = 256 * 1024
    /// The most bytes in a body by path, as the request line has it.
    var bodyBytesByPath: [String: Int] = [:]
    /// The most bytes in a request line and header fields together.
    var maximumHeadBytes = 16 * 1024
    /// The most header fields.
    var maximumHeadFields = 64

    /// The most bytes in the body of a request for that target; what follows a question mark is no part of the path.
    func maximumBodyBytes(for target: String) -> Int {
        if let limit = bodyBytesByPath[target] { return limit }
        guard !bodyBytesByPath.isEmpty, let query = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return maximumBodyBytes }
        return bodyBytesByPath[String(target[..<query])] ?? maximumBodyBytes
    }

    /// The most bytes that are kept of requests that a client sends before it has its answer. No path needs more: nothing is read
    /// meanwhile, so that only what was read together with the end of the request is kept.
    var maximumPipelinedBytes: Int { maximumBodyBytes + maximumHeadBytes }
    /// The most parts, which are heads, pieces of bodies and ends, that are kept of such requests.
    var maximumPipelinedParts: Int { 4096 }
}

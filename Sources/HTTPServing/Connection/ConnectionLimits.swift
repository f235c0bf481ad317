import NIOCore

/// The limits of one connection.
struct ConnectionLimits: Sendable {
    /// The timeout from the first byte of a request to its last, and from the start of a connection to the first byte.
    var requestDeadline: TimeAmount = .seconds(10)
    /// The idle timeout between two requests.
    var idleTimeout: TimeAmount = .seconds(60)
    /// The timeout from the last byte of a request to the last byte of its answer.
    var answerTimeout: TimeAmount = .seconds(30)
    /// How long input is discarded after a refusal, so that the client can read the refusal.
    var lingerTimeout: TimeAmount = .seconds(2)
    /// The time that a request still has after shutdown begins.
    var shutdownGrace: TimeAmount = .seconds(10)
    /// The most bytes in a body, except under the paths in `bodyBytesByPath`.
    var maximumBodyBytes = 256 * 1024
    /// The most bytes in a body, by the path as written in the request line.
    var bodyBytesByPath: [String: Int] = [:]
    /// The most bytes in a request line and header fields together.
    var maximumHeadBytes = 16 * 1024
    /// The most header fields.
    var maximumHeadFields = 64

    /// The most bytes in the body of a request for a target. The query is not part of the path.
    func maximumBodyBytes(for target: String) -> Int {
        if let limit = bodyBytesByPath[target] { return limit }
        guard !bodyBytesByPath.isEmpty, let query = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return maximumBodyBytes }
        return bodyBytesByPath[String(target[..<query])] ?? maximumBodyBytes
    }

    /// The most bytes of pipelined requests to buffer. The connection is not read during an answer: only bytes read together with the end
    /// of the request are buffered.
    var maximumPipelinedBytes: Int { maximumBodyBytes + maximumHeadBytes }
    /// The most parts (heads, body pieces and ends) of pipelined requests to buffer.
    var maximumPipelinedParts: Int { 4096 }
}

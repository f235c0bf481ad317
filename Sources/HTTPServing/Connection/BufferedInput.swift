import NIOCore
import NIOHTTP1

/// What a client sent or did while its request was answered.
///
/// The connection is not read during an answer: only what arrived in one read with the end of the request is buffered.
struct BufferedInput {
    /// The most bytes of buffered bodies: as many as one read has.
    private static let maximumBytes = 64 * 1024
    /// The most parts: heads, body pieces and ends.
    private static let maximumParts = 256

    /// The parts of pipelined requests; those before `next` are received.
    private var parts: [HTTPServerRequestPart] = []
    private var next = 0
    private var bodyBytes = 0
    /// Why the bytes after the parts are not a request.
    var failure: Problem?
    /// True when the client has closed its side.
    var isClosed = false
    /// True when a read waits for the end of the answer.
    var isReadHeld = false

    /// True when no request follows.
    var isAtEnd: Bool { isClosed && failure == nil && next == parts.count }

    /// Buffers a part; false when there is more than the limits allow.
    mutating func append(_ part: HTTPServerRequestPart) -> Bool {
        if case .body(let bytes) = part { bodyBytes += bytes.readableBytes }
        parts.append(part)
        return bodyBytes <= Self.maximumBytes && parts.count <= Self.maximumParts
    }

    /// Removes the oldest part.
    mutating func popFirst() -> HTTPServerRequestPart? {
        guard next < parts.count else {
            (parts, next, bodyBytes) = ([], 0, 0)
            return nil
        }
        next += 1
        return parts[next - 1]
    }
}

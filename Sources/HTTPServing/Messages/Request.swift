package import NIOCore
package import NIOHTTP1
import Synchronization

/// A complete request.
package struct Request: Sendable {
    package let method: HTTPMethod
    /// The path of the target, not decoded.
    package let path: String
    /// The query of the target, not decoded; nil without a question mark.
    package let query: String?
    package let headers: HTTPHeaders
    package let body: ByteBuffer
    /// The values of the variable segments of the path, percent-decoded once.
    package var values: [String: String] = [:]
    package let client: RequestClient

    init(_ head: HTTPRequestHead, body: ByteBuffer, client: RequestClient = RequestClient()) {
        let target = RequestTarget(head.uri)
        (path, query) = (target.path, target.query)
        (method, headers, self.body, self.client) = (head.method, head.headers, body, client)
    }

    /// The value of a field, with repeated fields joined by commas (RFC 9110, section 5.3).
    package func field(_ name: String) -> String? {
        let values = headers[name]
        return values.count < 2 ? values.first : values.joined(separator: ", ")
    }
}

/// Whether the client of a request still waits for the answer. An endpoint that waits for something asks it, and answers with what it has.
///
/// The endpoint's task is not cancelled: a cancelled statement costs its connection, which a client could repeat at will.
package final class RequestClient: Sendable {
    private let hasLeft: Atomic<Bool>

    init(isGone: Bool = false) {
        hasLeft = Atomic(isGone)
    }

    /// The connection is closed, or the client has closed its half of it.
    package var isGone: Bool { hasLeft.load(ordering: .relaxed) }

    func leave() {
        hasLeft.store(true, ordering: .relaxed)
    }
}

/// The target of a request line (RFC 9112, section 3.2), not decoded.
struct RequestTarget: Equatable {
    let path: String
    /// What follows the question mark; nil without one.
    let query: String?

    /// - Parameter text: the target in any form. One that names no path, such as `*`, is its own path.
    init(_ text: String) {
        let origin = text.utf8.first == UInt8(ascii: "/") ? text[...] : Self.afterAuthority(text)
        let mark = origin.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = origin[..<(mark ?? origin.endIndex)]
        self.path = path.isEmpty ? "/" : String(path)
        query = mark.map { String(origin[origin.utf8.index(after: $0)...]) }
    }

    /// The path and query of the absolute form.
    private static func afterAuthority(_ text: String) -> Substring {
        guard let scheme = text.firstRange(of: "://") else { return text[...] }
        let rest = text[scheme.upperBound...]
        return rest[(rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex)...]
    }
}

extension Request {
    /// Checks that the fields state a body of uncompressed JSON.
    ///
    /// - Throws: status 415.
    package func checkJSON() throws(Problem) {
        guard field("content-encoding").map({ $0.lowercased() == "identity" }) ?? true else { throw .contentEncodingRefused }
        guard let mediaType = field("content-type"), Self.isJSON(mediaType) else { throw .unsupportedMediaType }
    }

    /// True for `application/json`, in any case and with any parameters.
    private static func isJSON(_ mediaType: String) -> Bool {
        let essence = mediaType.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        return essence.elementsEqual("application/json".utf8) { $0 | 0x20 == $1 | 0x20 }
    }
}

/// Percent-encoding of URIs (RFC 3986, section 2.1).
package enum PercentEncoding {
    /// Decodes once and keeps plus signs. Nil for an incomplete escape or for bytes that are not UTF-8.
    package static func decode(_ text: Substring) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The escape of a byte.
    package static func escape(_ byte: UInt8) -> String { "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }

    /// A text for a log: everything but visible ASCII is encoded, and what exceeds `maximumBytes` is left out.
    static func printable(_ text: String, maximumBytes: Int) -> String {
        let start = text.utf8.prefix(maximumBytes).map { byte in
            let isPlain = (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            return isPlain ? String(UnicodeScalar(byte)) : escape(byte)
        }
        return start.joined() + (text.utf8.count > maximumBytes ? "..." : "")
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension UInt8 {
    /// Whether it is an ASCII letter or digit.
    package var isAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }
}

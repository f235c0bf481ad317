/// An answer of a server with persistent connections, parsed as far as a load generator needs it.
package enum HTTPAnswer: Hashable, Sendable {
    /// More bytes are needed.
    case incomplete
    /// The answer has arrived completely.
    case complete(status: Int, length: Int)
    /// Not HTTP/1.1 with a Content-Length, or the connection is to be closed.
    case unusable

    /// Parses the answer at the beginning of `bytes`.
    package static func parse(_ bytes: ArraySlice<UInt8>) -> HTTPAnswer {
        guard let end = endOfHead(bytes) else { return bytes.count > 16_384 ? .unusable : .incomplete }
        let head = bytes[..<end]
        guard head.starts(with: "HTTP/1.1 ".utf8), let status = number(head.dropFirst(9)) else { return .unusable }
        guard let length = value(of: "content-length", in: head).flatMap(number) else { return .unusable }
        if let connection = value(of: "connection", in: head), matches(connection, "close") { return .unusable }
        let total = end - bytes.startIndex + length
        return bytes.count >= total ? .complete(status: status, length: total) : .incomplete
    }

    /// Where the body begins.
    private static func endOfHead(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in bytes.startIndex...(bytes.endIndex - 4)
        where bytes[index] == 13 && bytes[index + 1] == 10 && bytes[index + 2] == 13 && bytes[index + 3] == 10 {
            return index + 4
        }
        return nil
    }

    /// The value of a header field, without leading spaces.
    private static func value(of name: String, in head: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        for line in head.split(separator: 10) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), matches(line[..<colon], name) else { continue }
            return line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }.prefix { $0 != 13 }
        }
        return nil
    }

    /// Compares ASCII text, ignoring case.
    private static func matches(_ bytes: ArraySlice<UInt8>, _ text: String) -> Bool {
        bytes.count == text.utf8.count && zip(bytes, text.utf8).allSatisfy { $0 | 0x20 == $1 }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
        let digits = bytes.prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty, digits.count < 10 else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}

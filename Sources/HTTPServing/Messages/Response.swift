import FoundationEssentials
package import NIOCore
package import NIOHTTP1
import Synchronization

/// An answer. The fields that frame its body and Date are added when it is written.
package struct Response: Sendable {
    /// What follows the head.
    package enum Body: Sendable {
        case bytes(ByteBuffer)
        /// A task writes it piece by piece. The connection ends with it.
        case stream(@Sendable (ResponseWriter) async -> Void)
    }

    package var status: HTTPResponseStatus
    package var headers: HTTPHeaders
    package var body: Body

    package init(status: HTTPResponseStatus, headers: HTTPHeaders = [:], body: ByteBuffer = ByteBuffer()) {
        (self.status, self.headers, self.body) = (status, headers, .bytes(body))
    }

    /// Status 200 with a body that is written piece by piece.
    package init(headers: HTTPHeaders, stream: @escaping @Sendable (ResponseWriter) async -> Void) {
        (status, self.headers, body) = (.ok, headers, .stream(stream))
    }

    /// Status 200 with an empty body.
    package static let empty = Response(status: .ok)

    /// Status 200 with a text body.
    package init(text: String, mediaType: String = "text/plain; charset=utf-8") {
        self.init(status: .ok, headers: ["content-type": mediaType], body: ByteBuffer(string: text))
    }
}

/// Sends the pieces of an answer to the client.
package struct ResponseWriter: Sendable {
    private let send: @Sendable (ByteBuffer) -> EventLoopFuture<Void>

    /// - Parameter send: the future succeeds when the operating system has taken the bytes.
    init(send: @escaping @Sendable (ByteBuffer) -> EventLoopFuture<Void>) {
        self.send = send
    }

    /// Sends text, and returns when the operating system has taken it: a slow client holds one piece in memory.
    ///
    /// - Returns: false when the connection is closed, by the client, at its timeout or at the end of the grace period.
    package func write(_ text: String) async -> Bool {
        do {
            try await send(ByteBuffer(string: text)).get()
            return true
        } catch {
            return false
        }
    }
}

/// The Date field of answers.
enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static let latest = Mutex((second: Int.min, text: ""))

    /// The current second; formatted once per second.
    static var now: String {
        let date = Date.now
        let second = Int(date.timeIntervalSince1970)
        return latest.withLock { latest in
            if latest.second != second { latest = (second, string(from: date)) }
            return latest.text
        }
    }

    /// An instant in the format of RFC 9110, section 5.6.7.
    static func string(from date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.weekday, .day, .month, .year, .hour, .minute, .second], from: date)
        let day = days[(parts.weekday ?? 1) - 1]
        let month = months[(parts.month ?? 1) - 1]
        let time = [parts.hour, parts.minute, parts.second].map { padded($0) }.joined(separator: ":")
        return "\(day), \(padded(parts.day)) \(month) \(parts.year ?? 1970) \(time) GMT"
    }

    private static func padded(_ number: Int?) -> String {
        let number = number ?? 0
        return number < 10 ? "0\(number)" : "\(number)"
    }
}

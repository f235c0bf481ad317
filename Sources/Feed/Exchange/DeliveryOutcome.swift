import Glibc
import HTTPRequesting

/// What became of one attempt. Texts name what is wrong, without a payload, a field or a path.
enum DeliveryOutcome: Sendable {
    case answered(DeliveryAnswer)
    /// The endpoint could not be reached, or gave no answer in time.
    case failed(String)
    /// The address is not allowed, the certificate is not trusted, or a field of the operator's file cannot be sent.
    case refused(String)
    /// The egress proxy could not be reached or refused to connect. The endpoint has no part in it.
    case proxyFailed(String)
    /// This process has stopped the attempt.
    case cancelled
}

/// An answer, whatever its status.
struct DeliveryAnswer: Sendable {
    let status: Int
    /// How long to wait before the next attempt, if the endpoint has asked for that.
    let retryAfter: Duration?
    /// The first bytes of the body.
    let body: [UInt8]
    /// How many bytes of the body were read.
    let byteCount: Int

    /// How many bytes of an answer are read before the connection is closed.
    static let maximumBytes = 65_536
    /// How many bytes of an answer are kept for the log.
    static let keptBytes = 4096
}

extension DeliveryAnswer: CustomStringConvertible, CustomReflectable {
    /// Shows only the length of the body.
    var description: String { "status \(status), \(byteCount) bytes" }
    var customMirror: Mirror { Mirror(self, children: ["status": status]) }
}

/// Why a step of an attempt failed.
struct DeliveryFailure: Error, Sendable {
    enum Kind: Sendable {
        case failed, refused, proxyFailed, cancelled
    }

    let kind: Kind
    let text: String

    static func failed(_ text: String) -> DeliveryFailure { DeliveryFailure(kind: .failed, text: text) }

    var outcome: DeliveryOutcome {
        switch kind {
        case .failed: .failed(text)
        case .refused: .refused(text)
        case .proxyFailed: .proxyFailed(text)
        case .cancelled: .cancelled
        }
    }
}

extension DeliveryFailure {
    /// What an error of a connection means.
    init(_ error: any Error) {
        let failure = ExchangeError(error)
        if let cause = error as? DeliveryFailure ?? failure.cause as? DeliveryFailure {
            self = cause
            return
        }
        let kind: Kind =
            switch failure.kind {
            case .cancelled: .cancelled
            // A server that hangs up in the handshake has shown no certificate.
            case .tlsFailed: failure.isHandshakeClosed ? .failed : .refused
            case .invalidRequest: .refused
            case .timedOut, .connectionFailed, .invalidAnswer, .tooLarge, .reusedConnectionClosed: .failed
            }
        self.init(kind: kind, text: failure.description)
    }
}

/// The field `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The duration that a value asks for: a number of seconds, or a date. Negative for a date that has passed; nil for anything else.
    ///
    /// - Parameter now: seconds since 1970.
    static func duration(_ value: String, now: Int64) -> Duration? {
        let text = value.filter { $0 != " " }
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            // A century is enough to be cut later.
            return .seconds(min(Int64(text) ?? .max, 3_155_760_000))
        }
        return seconds(ofDate: value).map { .seconds($0 - now) }
    }

    /// Reads the three forms of RFC 9110 §5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, and
    /// `Sun Nov  6 08:49:37 1994`.
    private static func seconds(ofDate value: String) -> Int64? {
        let words = value.split { " ,-:".contains($0) }
        guard let place = words.firstIndex(where: { months.contains(String($0)) }), let month = months.firstIndex(of: String(words[place]))
        else { return nil }
        let isDayFirst = place == 2
        let numbers = words.enumerated().filter { $0.offset != place }.compactMap { Int32($0.element) }
        guard words.count == (isDayFirst ? 8 : 7), isDayFirst || place == 1, numbers.count == 5 else { return nil }
        var year = isDayFirst ? numbers[1] : numbers[4]
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        let time = isDayFirst ? numbers[2...4] : numbers[1...3]
        var parts = tm()
        (parts.tm_mday, parts.tm_mon, parts.tm_year) = (numbers[0], Int32(month), year - 1900)
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (time[time.startIndex], time[time.startIndex + 1], time[time.startIndex + 2])
        guard (1...31).contains(parts.tm_mday), (1970...9999).contains(year), (0...23).contains(parts.tm_hour) else { return nil }
        return Int64(timegm(&parts))
    }
}

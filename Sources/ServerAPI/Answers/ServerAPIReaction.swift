import AppStore
import Outbox
import StrictJSON

/// What an answer means. Pure: the client acts on it.
enum ServerAPIReaction: Hashable, Sendable {
    case answered
    case refused(ServerAPIRefusal)
    case later(ServerAPIDelay)
    /// 401: about the key, the clock or the app, never about the request.
    case keyRefused
    /// 429: the endpoint is over for this app and environment, for as long as Apple says.
    case rateLimited(Duration?)

    /// - Parameter now: this machine's time, for a Retry-After where the answer has no Date.
    init(_ answer: HTTPAnswer, to request: ServerAPIRequest, now: Timestamp) {
        let error = (200...299).contains(answer.status) ? nil : ErrorBody(answer.body)
        let delay = RetryAfter.delay(answer, now: now)
        switch answer.status {
        case 200...299:
            self = Self.mismatch(of: answer, with: request).map { .later($0) } ?? .answered
        case 401:
            self = .keyRefused
        case 429:
            self = .rateLimited(delay)
        case _ where error?.code == .rateLimitExceeded:
            self = .rateLimited(delay)
        case 400...499:
            guard let error else {
                // A gateway, or a proxy: Apple's own refusals have a code.
                self = .later(ServerAPIDelay("http_\(answer.status)", notBefore: delay))
                return
            }
            switch error.code.advice {
            case .retry, .notYet: self = .later(ServerAPIDelay("apple_\(error.code.rawValue)", notBefore: delay))
            default: self = .refused(ServerAPIRefusal(code: error.code, message: error.message))
            }
        default:
            let reason = error.map { "apple_\($0.code.rawValue)" } ?? "http_\(answer.status)"
            self = .later(ServerAPIDelay(reason, notBefore: delay))
        }
    }

    /// Why the body of a 2xx is none: it is no object, or it is about another app or environment.
    private static func mismatch(of answer: HTTPAnswer, with request: ServerAPIRequest) -> ServerAPIDelay? {
        // Apple has done what was asked, whatever the body says. To repeat an extension could extend twice.
        if request.endpoint.isDoneByStatus { return nil }
        let object: JSONObject
        do { object = try JSONParser().parseObject(answer.body) } catch { return ServerAPIDelay("answer_malformed") }
        let expected = [("bundleId", request.lane.bundleID), ("environment", request.lane.environment.rawValue)]
        for (name, value) in expected {
            guard let found = object[name], found != .null else { continue }
            if found != .string(value) { return ServerAPIDelay("answer_of_another_app") }
        }
        return nil
    }
}

extension ServerAPIEndpoint {
    /// Whether the status of an answer says it all: its body is empty, or a change has been made.
    fileprivate var isDoneByStatus: Bool {
        switch self {
        case .consumption, .consumptionV1, .setAppAccountToken, .finishTransaction, .extendRenewalDate, .extendForAll: true
        default: false
        }
    }
}

/// The body of an error: `{"errorCode": 4000006, "errorMessage": "…"}`.
struct ErrorBody {
    let code: ServerAPIErrorCode
    /// On one line, with visible characters only.
    let message: String

    /// Nil for an answer without a code.
    init?(_ body: [UInt8]) {
        do {
            let object = try JSONParser().parseObject(body)
            guard case .number(let number)? = object["errorCode"], let code = number.int64.flatMap({ Int(exactly: $0) }) else { return nil }
            self.code = ServerAPIErrorCode(rawValue: code)
            guard case .string(let text)? = object["errorMessage"] else {
                message = ""
                return
            }
            message = String(String.UnicodeScalarView(text.unicodeScalars.filter { (0x20...0x7E).contains($0.value) }.prefix(200)))
        } catch {
            return nil
        }
    }
}

/// The Retry-After field of the App Store Server API: an instant in milliseconds since 1970. A gateway or a proxy sends seconds, an instant in
/// seconds, or a date.
enum RetryAfter {
    /// The longest delay. Apple counts by the hour.
    static let limit = Duration.seconds(3600)

    /// The delay that an answer asks for; nil when it asks for none, or for nonsense.
    ///
    /// - Parameter now: this machine's time, where the answer has no Date.
    static func delay(_ answer: HTTPAnswer, now: Timestamp) -> Duration? {
        guard let text = answer.retryAfter else { return nil }
        let now = answer.date.flatMap(HTTPDate.parse) ?? now
        var instant: Duration
        if text.allSatisfy({ $0.isASCII && $0.isNumber }), !text.isEmpty {
            guard let number = Int64(text) else { return nil }
            switch number {
            case ..<1_000_000_000: return min(.seconds(number), limit)
            // From 2001 to 5138. In milliseconds, that would be before 1973.
            case ..<100_000_000_000: instant = .seconds(number)
            default: instant = .milliseconds(number)
            }
        } else {
            guard let date = HTTPDate.parse(text) else { return nil }
            instant = .milliseconds(date.millisecondsSince1970)
        }
        instant -= .milliseconds(now.millisecondsSince1970)
        return min(max(instant, .zero), limit)
    }
}

/// Dates in HTTP fields (RFC 9110, section 5.6.7).
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The instant of `Sun, 06 Nov 1994 08:49:37 GMT`; nil for any other form.
    @Sendable static func parse(_ text: String) -> Timestamp? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
            return nil
        }
        return Timestamp(rfc3339: "\(parts[3])-\(month < 9 ? "0" : "")\(month + 1)-\(parts[1])T\(parts[4])Z".utf8)
    }
}

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

import Crypto
import Foundation

/// Verifies webhooks (Standard Webhooks 1.0). Copy this file into your backend; it needs only swift-crypto.
struct WebhookVerifier: Sendable {
    private enum Secret: Sendable {
        /// `whsec_…`, scheme v1: HMAC-SHA256.
        case shared(SymmetricKey)
        /// `whpk_…`, scheme v1a: ed25519, with which only the sender can sign.
        case publicKey(Curve25519.Signing.PublicKey)
    }

    private let secrets: [Secret]
    /// How far the clocks may be apart.
    private let tolerance: TimeInterval = 5 * 60

    /// - Parameter text: a line for each secret that is valid.
    init?(_ text: String) {
        var secrets: [Secret] = []
        for line in text.split(whereSeparator: \.isWhitespace) {
            let parts = line.split(separator: "_", maxSplits: 1)
            guard parts.count == 2, let bytes = Data(base64Encoded: String(parts[1])) else { return nil }
            switch parts[0] {
            case "whsec": secrets.append(.shared(SymmetricKey(data: bytes)))
            case "whpk":
                guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes) else { return nil }
                secrets.append(.publicKey(key))
            default: return nil
            }
        }
        guard !secrets.isEmpty else { return nil }
        self.secrets = secrets
    }

    /// Whether one of the signatures is made with one of the secrets.
    ///
    /// - Parameters:
    ///   - header: returns the value of a header by its name in lower case.
    ///   - body: the bytes as they came, not JSON that was parsed and written again.
    func isGenuine(_ header: (String) -> String?, body: Data, now: Date = Date()) -> Bool {
        guard let id = header("webhook-id"), let timestamp = header("webhook-timestamp"), let signatures = header("webhook-signature"),
            let seconds = TimeInterval(timestamp), abs(now.timeIntervalSince1970 - seconds) <= tolerance
        else { return false }
        let content = Data("\(id).\(timestamp).".utf8) + body
        return signatures.split(separator: " ").contains { item in
            let parts = item.split(separator: ",", maxSplits: 1)
            guard parts.count == 2, let signature = Data(base64Encoded: String(parts[1])) else { return false }
            return secrets.contains { secret in
                switch secret {
                case .shared(let key):
                    parts[0] == "v1" && HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: content, using: key)
                case .publicKey(let key): parts[0] == "v1a" && key.isValidSignature(signature, for: content)
                }
            }
        }
    }
}

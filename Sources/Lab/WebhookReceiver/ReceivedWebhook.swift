import Foundation
import OpenSSL

/// A webhook as it arrived.
package struct ReceivedWebhook: Sendable {
    /// By lower-case name; of a name that occurs twice, the last.
    package let headers: [String: String]
    package let body: [UInt8]
    /// When it arrived, in seconds since 1970.
    package let arrivedAt: Double

    package init(headers: [String: String], body: [UInt8], arrivedAt: Double) {
        (self.headers, self.body, self.arrivedAt) = (headers, body, arrivedAt)
    }

    /// The id of the entry, equal at each attempt.
    package var id: String { headers["webhook-id"] ?? "" }

    /// How many minutes its clock may be wrong.
    private static let tolerance = 5.0

    /// The signatures of one scheme: `v1` or `v1a`.
    package func signatures(_ scheme: String = "v1") -> [String] {
        (headers["webhook-signature"] ?? "").split(separator: " ").compactMap { signature in
            let parts = signature.split(separator: ",", maxSplits: 1)
            return parts.count == 2 && parts[0] == scheme ? String(parts[1]) : nil
        }
    }

    /// Whether it is recent and one of its signatures is made with this secret (Standard Webhooks 1.0, scheme `v1`).
    ///
    /// - Parameter secret: `whsec_` and base64.
    package func isSigned(with secret: String) -> Bool {
        guard secret.hasPrefix("whsec_"), let key = Data(base64Encoded: String(secret.dropFirst("whsec_".count))),
            let timestamp = headers["webhook-timestamp"], let seconds = Double(timestamp), abs(arrivedAt - seconds) < Self.tolerance * 60
        else { return false }
        let code = Self.code(of: Array("\(id).\(timestamp).".utf8) + body, key: Array(key))
        return signatures().contains { signature in
            guard let given = Data(base64Encoded: signature) else { return false }
            return Digest.areEqualInConstantTime(Array(given), code)
        }
    }

    /// HMAC-SHA256 (RFC 2104), written out, so that a test does not compare the code of the program with itself.
    private static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        let short = key.count > 64 ? Digest.sha256(key) : key
        let block = short + [UInt8](repeating: 0, count: 64 - short.count)
        return Digest.sha256(block.map { $0 ^ 0x5C } + Digest.sha256(block.map { $0 ^ 0x36 } + message))
    }
}

import AppStore
import OpenSSL

/// A bearer key: 256 random bits, shown to its holder once. Everybody else, the database too, only ever sees its SHA-256.
package struct APIKey: Sendable, CustomStringConvertible {
    /// What scanners for leaked secrets can look for.
    private static let prefix = "asinbox_"
    private static let byteCount = 32

    /// The key as its holder sends it: the prefix and 43 characters of base64url.
    package let text: String

    /// Makes up a key.
    package init(using generator: inout some RandomNumberGenerator) {
        let bytes = (0..<Self.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        text = Self.prefix + String(decoding: Base64URL.encode(bytes), as: UTF8.self)
    }

    /// A key that somebody shows; nil for text that no key can be.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix),
            Base64URL.decode(Array(text.utf8.dropFirst(Self.prefix.utf8.count)))?.count == Self.byteCount
        else { return nil }
        self.text = text
    }

    /// The SHA-256 of `text`: what is kept of a key, and what it is found by.
    package var hash: [UInt8] { Digest.sha256(Array(text.utf8)) }

    package var description: String { "a key" }
}

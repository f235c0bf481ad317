package import AppStore
internal import OpenSSL

/// Names for contents that have no id of their own: SHA-256 in 64 lower-case hexadecimal digits.
package enum ContentDigest {
    /// Of a notification V1: the same for each delivery of it, whatever its `password`, its white space and the order of its members.
    package static func ofNotificationV1(_ body: JSONObject) -> String { ofBytes(CanonicalJSON.text(ofNotificationV1: body)) }

    package static func ofBytes(_ bytes: [UInt8]) -> String { hexadecimal(Digest.sha256(bytes)) }

    /// A digest as text.
    package static func hexadecimal(_ digest: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

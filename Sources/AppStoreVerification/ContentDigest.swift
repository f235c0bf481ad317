import AppStore
internal import OpenSSL
package import StrictJSON

/// Ids for contents without an id: SHA-256 in 64 lower-case hexadecimal digits.
package enum ContentDigest {
    /// The id of a notification V1, independent of its `password`, white space and order of members.
    package static func ofNotificationV1(_ body: JSONObject) -> String { ofBytes(CanonicalJSON.text(ofNotificationV1: body)) }

    package static func ofBytes(_ bytes: [UInt8]) -> String { hexadecimal(Digest.sha256(bytes)) }

    /// A digest as text.
    package static func hexadecimal(_ digest: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

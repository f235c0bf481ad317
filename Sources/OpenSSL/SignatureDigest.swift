/// The digests that go with RSA signatures here.
package enum SignatureDigest: Sendable {
    /// Only for what was signed when there was nothing else: collisions can be made.
    case sha1
    case sha256

    var messageDigest: MessageDigest {
        switch self {
        case .sha1: .sha1
        case .sha256: .sha256
        }
    }

    /// The digest of these bytes.
    package func hash(_ bytes: [UInt8]) -> [UInt8] { messageDigest.hash(bytes[...]) }
}

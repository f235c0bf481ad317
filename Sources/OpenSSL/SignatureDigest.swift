/// The digests of RSA signatures.
package enum SignatureDigest: Sendable {
    /// Only for old signatures: collisions are feasible.
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

internal import COpenSSL

/// A digest algorithm, fetched from its provider once: each fetch takes a lock and costs as much as hashing a kilobyte.
///
/// `@unchecked Sendable`: an `EVP_MD` never changes after the fetch, and libcrypto counts references to it atomically.
final class MessageDigest: @unchecked Sendable {
    static let sha1 = MessageDigest("SHA1", byteCount: 20, builtIn: EVP_sha1())
    static let sha256 = MessageDigest("SHA256", byteCount: 32, builtIn: EVP_sha256())
    static let sha384 = MessageDigest("SHA384", byteCount: 48, builtIn: EVP_sha384())

    let handle: OpaquePointer?
    private let byteCount: Int
    private let fetched: OpaquePointer?

    private init(_ name: String, byteCount: Int, builtIn: OpaquePointer?) {
        self.byteCount = byteCount
        fetched = EVP_MD_fetch(nil, name, nil)
        handle = fetched ?? builtIn
    }

    deinit { EVP_MD_free(fetched) }

    func hash(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { digest, count in
            let hashed = bytes.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, digest.baseAddress, nil, handle, nil) }
            precondition(hashed == 1, "libcrypto is out of memory or has no provider for a SHA digest")
            count = byteCount
        }
    }
}

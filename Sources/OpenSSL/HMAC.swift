internal import COpenSSL

/// Message authentication codes (RFC 2104).
package enum HMAC {
    /// HMAC-SHA256, 32 bytes.
    package static func sha256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Digest.sha256ByteCount) { code, count in
            // A null key would mean the key of an earlier call.
            let key = key.isEmpty ? [0] : key
            let made = COpenSSL.HMAC(MessageDigest.sha256.handle, key, CInt(key.count), message, message.count, code.baseAddress, nil)
            precondition(made != nil, "libcrypto is out of memory or has no provider for HMAC")
            count = Digest.sha256ByteCount
        }
    }
}

internal import COpenSSL

/// A libcrypto memory buffer for the PEM functions (RFC 7468), lent in closures.
enum PEM {
    /// Calls `body` with a buffer that reads `bytes`.
    static func reading<Value>(
        _ bytes: [UInt8],
        _ body: (OpaquePointer) throws(OpenSSLError) -> Value,
        otherwise error: OpenSSLError
    ) throws(OpenSSLError) -> Value {
        // Copies the bytes: BIO_new_mem_buf would keep a pointer into the Swift array.
        guard let count = Int32(exactly: bytes.count), let bio = BIO_new(BIO_s_mem()) else { throw error }
        defer { BIO_free(bio) }
        guard count == 0 || BIO_write(bio, bytes, count) == count else { throw error }
        return try body(bio)
    }

    /// The text that `body` writes; nil if `body` returns false.
    static func writing(_ body: (OpaquePointer) -> Bool) -> String? {
        guard let bio = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(bio) }
        guard body(bio) else { return nil }
        var start: UnsafeMutablePointer<CChar>?
        let count = COpenSSL_BIO_get_mem_data(bio, &start)
        return String(decoding: UnsafeRawBufferPointer(start: start, count: max(0, count)), as: UTF8.self)
    }
}

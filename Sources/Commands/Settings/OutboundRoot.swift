import OpenSSL

/// A file with certificates that are trusted in addition to the system's for outbound TLS.
enum OutboundRoot {
    /// What keeps the file from being used; nil when it can be.
    static func problem(_ path: String) -> String? {
        do {
            _ = try Certificate.bundle(pem: ReadableFile.bytes(at: path))
            return nil
        } catch let error as ReadableFile.Unreadable {
            return "\(path.mayHoldSecret ? "the file" : path) cannot be read: \(error)"
        } catch {
            return "\(path) holds no certificates in PEM: \(error)"
        }
    }
}

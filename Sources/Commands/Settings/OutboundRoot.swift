import FoundationEssentials
import OpenSSL

/// A file with certificates that are trusted in addition to the system's for outbound TLS.
enum OutboundRoot {
    /// Checks that the file can be used, so that a start fails at once and `--check-config` reports it.
    ///
    /// - Throws: ``SettingsError`` that names the file.
    static func check(_ path: String) throws(SettingsError) {
        let bytes: [UInt8]
        do {
            bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        } catch {
            throw SettingsError(["\(Settings.outboundRoots.description.name): \(path) cannot be read"])
        }
        do {
            _ = try Certificate.bundle(pem: bytes)
        } catch {
            throw SettingsError(["\(Settings.outboundRoots.description.name): \(path) holds no certificates in PEM: \(error)"])
        }
    }
}

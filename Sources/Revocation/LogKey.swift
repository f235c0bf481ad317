/// The keys of what this module logs.
enum LogKey {
    static let certificate = "certificate.sha256"
    static let reason = "certificate.reason"
    static let time = "certificate.revoked_at"
}

import Glibc
import OpenSSL
import StrictJSON
import Testing

@testable import AppStoreVerification

/// Verification makes no network requests, so an outage elsewhere cannot refuse a genuine signature.
struct NetworkTests {
    @Test func `the certificates' OCSP responder is not contacted`() throws {
        let responder = try Responder()
        let access = CertificateBuilder.Extension(oid: "1.3.6.1.5.5.7.1.1", value: Self.authorityInformationAccess(responder.url))
        let store = try TestStore { options in
            options.intermediate.extensions.append(access)
            options.leaf.extensions.append(access)
        }
        let jws = try store.sign(Payloads.notification().with("notificationType", "TEST"))
        let verdict = Verifier(policy: try store.policy()).verifyNotification(Array(jws.utf8)[...], receivedAt: TestStore.now)
        guard case .valid = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(try !responder.wasContacted())
    }

    /// RFC 5280 section 4.2.2.1: one access description for OCSP.
    private static func authorityInformationAccess(_ url: String) -> [UInt8] {
        func tagged(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, UInt8(content.count)] + content }
        let method = tagged(0x06, [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01])
        return tagged(0x30, tagged(0x30, method + tagged(0x86, Array(url.utf8))))
    }
}

/// A socket that listens and never responds.
private final class Responder {
    private let socket: Int32
    let url: String

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = socket
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(socket, pointer, length) == 0 && listen(socket, 8) == 0 && getsockname(socket, pointer, &length) == 0
            }
        }
        try #require(isListening)
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/ocsp"
    }

    deinit { close(socket) }

    /// Whether a client has connected.
    func wasContacted() throws -> Bool {
        let connection = accept(socket, nil, nil)
        if connection >= 0 {
            close(connection)
            return true
        }
        try #require(errno == EAGAIN)
        return false
    }
}

import Glibc
import Testing

@testable import ServiceSupport

@Suite struct ListenDescriptorsTests {
    @Test func `each socket is found by its name, with its address`() throws {
        let path = "/tmp/appstore-inbox-listen-\(getpid()).socket"
        let descriptors = [Kind.tcp, .tcp6, .unix(path)].map(Self.listener)
        defer {
            for descriptor in descriptors { close(descriptor) }
            unlink(path)
        }
        let names = ["LISTEN_PID": "42", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "notifications:api:admin"]
        let listeners = try ListenDescriptors(environment: names, processID: 42) { descriptors[$0] }.listeners
        #expect(listeners.mapValues(\.descriptor) == ["notifications": descriptors[0], "api": descriptors[1], "admin": descriptors[2]])
        #expect(descriptors.allSatisfy { fcntl($0, F_GETFL) & O_NONBLOCK != 0 && fcntl($0, F_GETFD) == FD_CLOEXEC })
        #expect(listeners["notifications"]?.address.hasPrefix("127.0.0.1:") == true)
        #expect(listeners["api"]?.address.hasPrefix("[::1]:") == true)
        #expect(listeners["admin"]?.address == "unix:\(path)")
    }

    @Test(arguments: [
        [:], ["LISTEN_FDS": "1", "LISTEN_FDNAMES": "api"], ["LISTEN_PID": "43", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "api"],
        ["LISTEN_PID": "42", "LISTEN_FDS": "0"],
    ])
    func `sockets of another process are not used`(environment: [String: String]) throws {
        #expect(try ListenDescriptors(environment: environment, processID: 42) { _ in -1 }.listeners == [:])
    }

    @Test(arguments: [
        ("1", "api", [Kind.silent], "the socket api does not listen for connections"),
        ("2", "api:api", [.tcp, .tcp], "two sockets have the name api"),
        ("2", "api", [.tcp, .tcp], "LISTEN_FDNAMES does not have 2 names"),
    ])
    func `a socket that cannot be used is an error`(count: String, names: String, kinds: [Kind], message: String) throws {
        let descriptors = kinds.map(Self.listener)
        defer { for descriptor in descriptors { close(descriptor) } }
        let environment = ["LISTEN_PID": "42", "LISTEN_FDS": count, "LISTEN_FDNAMES": names]
        let error = #expect(throws: SystemdError.self) {
            try ListenDescriptors(environment: environment, processID: 42) { descriptors[$0] }
        }
        #expect(error?.description == message)
    }

    enum Kind: Sendable {
        case tcp, tcp6
        case unix(String)
        /// Bound to no address.
        case silent
    }

    private static func listener(_ kind: Kind) -> CInt {
        let stream = CInt(SOCK_STREAM.rawValue)
        switch kind {
        case .silent:
            return socket(AF_INET, stream, 0)
        case .tcp:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return listener(socket(AF_INET, stream, 0), &address)
        case .tcp6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = in6addr_loopback
            return listener(socket(AF_INET6, stream, 0), &address)
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            return listener(socket(AF_UNIX, stream, 0), &address)
        }
    }

    private static func listener<Address>(_ descriptor: CInt, _ address: inout Address) -> CInt {
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
        precondition(bound == 0 && listen(descriptor, 1) == 0)
        return descriptor
    }
}

import HTTPRequesting
import HTTPServing
import NIOHTTP1

/// The listeners that the settings name.
extension DoctorCheck {
    /// A listener, and what answers there.
    private struct Listener {
        let name: String
        let unit: String
        var path = "/readyz"
        /// What the listener says when it is well.
        var status = 200
    }

    @Sendable static func listeners(_ context: DoctorContext) async -> [Finding] {
        let (reader, unit) = (context.daemons, "appstore-inbox-ingest")
        // This listener has no /readyz, and refuses a GET.
        let notifications = Listener(name: "notifications", unit: unit, path: PublicURL.notifications, status: 405)
        var findings = [
            await finding(notifications, reader.valid(Settings.listen)),
            await finding(Listener(name: "admin", unit: unit), reader.valid(Settings.adminListen)),
        ]
        if let worker = reader.valid(Settings.workerAdminListen) ?? nil {
            findings.append(await finding(Listener(name: "worker admin", unit: "appstore-inbox-worker"), worker))
        } else {
            findings.append(.ok("worker admin", "off; the sessions of appstore_worker show whether one runs"))
        }
        if let api = reader.valid(Settings.apiListen) {
            findings.append(await finding(Listener(name: "API", unit: unit), api))
        } else {
            findings.append(.ok("API", "no address is set; where a socket of systemd serves it, add --api-listen"))
        }
        return findings
    }

    private static func finding(_ listener: Listener, _ address: ListenAddress?) async -> Finding {
        guard let address, let target = HTTPAddress(address, target: listener.path) else {
            return .unknown(listener.name, "its address is wrong, or leaves the port to the operating system", "name the address")
        }
        do throws(HTTPProbe.NoAnswer) {
            return judge(listener, address, try await HTTPProbe.send(.GET, target))
        } catch  where error.isDenied {
            return .unknown(listener.name, "\(address): \(error)", "run this as a user who may open the socket, such as root")
        } catch {
            return .failure(
                listener.name,
                "\(address) does not answer: \(error)",
                "the daemon is not running, or listens elsewhere: systemctl status \(listener.unit)"
            )
        }
    }

    private static func judge(_ listener: Listener, _ address: ListenAddress, _ answer: HTTPProbe.Answer) -> Finding {
        if answer.status == listener.status, answer.status == 200 || answer.reason != nil {
            return .ok(listener.name, "\(address) is ready")
        }
        guard let reason = answer.reason else {
            let found = "\(address) answers \(answer.status): another program listens there"
            return .failure(listener.name, found, "give one of them another address")
        }
        return .failure(listener.name, "\(address) answers \(answer.status) \(reason)", answer.detail ?? "journalctl -u \(listener.unit)")
    }
}

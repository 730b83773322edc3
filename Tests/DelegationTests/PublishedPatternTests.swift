import Delegation
import Testing

/// Code in the shape that the pattern was published in: it compiles and does what it says there.
private protocol EmergencyResponding {
    func notifyFire(at location: String)
    func notifyCarCrash(at location: String)
}

private final class FireStation: EmergencyResponding {
    var heard: [String] = []
    func notifyFire(at location: String) { heard.append("fire at \(location)") }
    func notifyCarCrash(at location: String) { heard.append("crash at \(location)") }
}

private final class PoliceStation: EmergencyResponding {
    var heard: [String] = []
    func notifyFire(at location: String) { heard.append("fire at \(location)") }
    func notifyCarCrash(at location: String) { heard.append("crash at \(location)") }
}

private final class DispatchSystem {
    let multicastDelegate = MulticastDelegate<any EmergencyResponding>()
}

@Suite("The pattern as it was published")
struct PublishedPatternTests {
    @Test("a released station is no longer called")
    func dispatch() throws {
        let dispatch = DispatchSystem()
        let policeStation = PoliceStation()
        var fireStation: FireStation? = FireStation()
        dispatch.multicastDelegate.addDelegate(policeStation)
        dispatch.multicastDelegate.addDelegate(try #require(fireStation))

        dispatch.multicastDelegate.invokeDelegates { $0.notifyFire(at: "the mill") }
        #expect(fireStation?.heard == ["fire at the mill"])

        weak let observed = fireStation
        fireStation = nil
        #expect(observed == nil)
        dispatch.multicastDelegate.invokeDelegates {
            $0.notifyCarCrash(at: "the bridge")
        }
        #expect(policeStation.heard == ["fire at the mill", "crash at the bridge"])

        dispatch.multicastDelegate.removeDelegate(policeStation)
        dispatch.multicastDelegate.invokeDelegates { $0.notifyFire(at: "nowhere") }
        #expect(policeStation.heard.count == 2)
    }
}

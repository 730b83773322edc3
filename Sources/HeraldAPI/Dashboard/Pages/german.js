// The texts of the pages in German.

export const german = {
  // Navigation
  "Overview": "Übersicht", "Delegates": "Empfänger", "Delegate": "Empfänger", "Events": "Ereignisse", "Event": "Ereignis", "Deliveries": "Zustellungen", "Types": "Typen",
  "Event types": "Ereignistypen", "State": "Zustand", "Publish": "Senden", "Server": "Server", "Sign out": "Abmelden", "Skip to the content": "Zum Inhalt", "Nothing here": "Hier ist nichts",
  "Go to the overview": "Zur Übersicht", "Keyboard": "Tastatur", "Close": "Schließen", "☀ Light": "☀ Hell", "☾ Dark": "☾ Dunkel", "◑ Auto": "◑ Auto", "Colours: {}. Change": "Farben: {}. Ändern",
  "search": "suchen", "new delegate": "neuer Empfänger", "overview": "Übersicht", "delegates": "Empfänger", "events": "Ereignisse", "deliveries": "Zustellungen", "event types": "Ereignistypen",
  "state": "Zustand", "close": "schließen", "this help": "diese Hilfe",
  // Numbers and times
  "event": "Ereignis", "delegate": "Empfänger", "delivery": "Zustellung", "attempt": "Versuch", "attempts": "Versuche", "retry": "Wiederholung", "retries": "Wiederholungen", "change": "Änderung", "changes": "Änderungen",
  "about ": "etwa ", "now": "jetzt", "{} ago": "vor {}", "in {}": "in {}", "more than {}": "mehr als {}", "{} of {}": "{} von {}", "The first {}": "Die ersten {}", "{} new": "{} neue",
  "Any time": "Jederzeit", "the last hour": "der letzten Stunde", "the last 24 hours": "den letzten 24 Stunden", "the last 7 days": "den letzten 7 Tagen",
  "Failed in {}": "Fehlgeschlagen in {}", "Failed since {}": "Fehlgeschlagen seit {}", "Accepted in {}": "Angenommen in {}", "Accepted since {}": "Angenommen seit {}",
  "Made in {}": "Versucht in {}", "Made since {}": "Versucht seit {}", "Published in {}": "Gesendet in {}", "Published since {}": "Gesendet seit {}",
  // States
  "active": "aktiv", "delivered": "zugestellt", "succeeded": "erfolgreich", "logged in": "angemeldet", "running": "läuft", "retrying": "wird wiederholt", "pending": "wartet",
  "pending verification": "wartet auf Prüfung", "failing": "schlägt fehl", "exhausted": "aufgegeben", "failed": "fehlgeschlagen", "paused": "angehalten", "disabled": "abgeschaltet", "gone": "nicht mehr da",
  "dropped": "verworfen", "logged out": "abgemeldet", "stopped": "beendet", "unknown": "unbekannt", "timeout": "Zeitüberschreitung", "connection failed": "keine Verbindung",
  "lease expired": "nicht rechtzeitig bestätigt", "refused": "abgelehnt", "Leases: {}": "In Arbeit: {}", "Seconds to acknowledge": "Sekunden bis zur Bestätigung", "5 to 43200; default 60.": "5 bis 43200; sonst 60.",
  "name not resolved": "Name nicht gefunden", "address refused": "Adresse nicht erlaubt", "tls failed": "TLS fehlgeschlagen", "protocol error": "Protokollfehler", "none": "keine",
  // Overview
  "Needs attention": "Braucht Aufmerksamkeit", "Nothing: every delegate receives its events.": "Nichts: Jeder Empfänger erhält seine Ereignisse.", "Nothing yet.": "Noch nichts.", "Event flow": "Fluss der Ereignisse",
  "All delegates, failing first": "Alle Empfänger, fehlschlagende zuerst", "{} given up": "{} aufgegeben", "Show them": "Anzeigen", "{} to {}": "{} an {}", "last: {}": "zuletzt: {}", "and to {} more": "und an {} weitere",
  "The oldest event has waited for {}.": "Das älteste Ereignis wartet seit {}.", "For {}. ": "Seit {}. ", "Probe now": "Jetzt prüfen", "Resume": "Fortsetzen", "Details": "Einzelheiten", "Probing now.": "Wird geprüft.", "Resumed.": "Fortgesetzt.",
  "No webhooks yet": "Noch keine Webhooks", "Events arrive, but no webhook is registered": "Ereignisse kommen an, aber kein Webhook ist eingetragen",
  "Register the URL of a program that needs the events. `herald receiver` is one to try things out.": "Tragen Sie die URL eines Programms ein, das die Ereignisse braucht.",
  "and {} more": "und {} weitere", "and many more": "und viele weitere", "up to date": "auf dem Stand", "{} behind": "{} im Rückstand", " to {}": " an {}", " to more than {}": " an mehr als {}",
  "Over time": "Verlauf", "Period": "Zeitraum", "Hour": "Stunde", "Day": "Tag", "Week": "Woche", "Attempts": "Versuche", "No attempt": "Kein Versuch", "{} % of {} succeeded": "{} % erfolgreich, {}",
  "Attempts in 24 hours: {}": "Versuche in 24 Stunden: {}",
  // Delegates
  "New delegate": "Neuer Empfänger", "Search": "Suche", "Search delegates": "Empfänger suchen", "Kind": "Art", "All kinds": "Alle Arten", "Webhooks": "Webhooks", "Pulled": "Abgeholt", "Inside the process": "Im Server", "Live streams": "Live-Ströme",
  "All states": "Alle Zustände", "Sort": "Reihenfolge", "Failing first": "Fehlschlagende zuerst", "By name": "Nach Namen", "By lag": "Nach Rückstand", "Newest first": "Neueste zuerst", "Behind": "Rückstand", "behind": "Rückstand",
  "Success, 24 h": "Erfolg, 24 h", "success, 24 h": "Erfolg, 24 h", "p95, last hour": "p95, 1 Stunde", "No delegate matches.": "Kein Empfänger passt.", "More delegates": "Weitere Empfänger", "webhook": "Webhook",
  // A delegate
  "Retrying": "Wiederholungen", "Limited by": "Begrenzt durch", "nothing": "nichts", "Refused types": "Abgelehnte Typen", "Given up": "Aufgegeben", "Attempts that succeeded, last hour": "Erfolgreiche Versuche, letzte Stunde",
  "Attempts that failed, last hour": "Fehlgeschlagene Versuche, letzte Stunde", "its rate limit": "sein Ratenlimit", "failures in a row": "Fehler in Folge", "slots of the server": "Plätze des Servers", "an earlier delivery": "eine frühere Zustellung",
  "an earlier delivery about {}": "eine frühere Zustellung zu {}", "deliveries that wait for a retry": "Zustellungen, die auf eine Wiederholung warten", "open circuit, probing": "unterbrochen, wird geprüft", "open circuit, next probe ": "unterbrochen, nächste Prüfung ",
  "open requests, {} at once": "offene Anfragen, {} gleichzeitig", "rejections, {}/s": "Ablehnungen, {}/s", "{} ({} times: {})": "{} ({}-mal: {})", "Test": "Testen", "Pause": "Anhalten", "❚❚ Paused": "❚❚ Angehalten",
  "Replay": "Erneut senden", "Redeliver given up": "Aufgegebene erneut zustellen", "Rotate secret": "Geheimnis wechseln", "Remove": "Entfernen", "Paused. Events are kept and delivered after you resume.": "Angehalten. Ereignisse werden aufbewahrt und nach dem Fortsetzen zugestellt.",
  "Sending herald.test …": "herald.test wird gesendet …", "Result of the test": "Ergebnis des Tests", "Create a new secret? The old one also signs for one more day.": "Neues Geheimnis erzeugen? Das alte unterschreibt noch einen Tag lang.", "Rotate": "Wechseln",
  "The new secret": "Das neue Geheimnis", "The secret": "Das Geheimnis", "This is shown once.": "Dies wird nur einmal gezeigt.", " Give it to the receiver, which verifies each callback with it.": " Der Empfänger prüft damit jeden Aufruf.",
  " It signs the callbacks; the receiver needs the public key only.": " Es unterschreibt die Aufrufe; der Empfänger braucht nur den öffentlichen Schlüssel.", "The public key:": "Der öffentliche Schlüssel:", "Verify in {}": "Prüfen in {}",
  "Remove {}? It receives nothing more, and its pending deliveries are dropped.": "{} entfernen? Er erhält nichts mehr, und ausstehende Zustellungen werden verworfen.", "Removed.": "Entfernt.", "Keep": "Behalten", "Settings": "Einstellungen", "Save": "Speichern",
  "Saved.": "Gespeichert.", "Nothing was changed.": "Nichts wurde geändert.", "Changed ": "Geändert ", " Changed ": " Geändert ", ", registered ": ", eingetragen ", "Register": "Eintragen", "Registered": "Eingetragen", "Go to the delegate": "Zum Empfänger",
  "Already registered with these settings": "Mit diesen Einstellungen schon eingetragen", "Of the last {} it would have received {}": "Letzte {}: Er hätte {} erhalten",
  "These settings were changed elsewhere. Close and open the delegate to see them.": "Diese Einstellungen wurden anderswo geändert. Schließen und öffnen Sie den Empfänger, um sie zu sehen.",
  "Outcome": "Ergebnis", "All outcomes": "Alle Ergebnisse", "Succeeded": "Erfolgreich", "Failed": "Fehlgeschlagen", "Error": "Fehler", "Any error": "Jeder Fehler", "Time": "Zeit", "Older attempts": "Ältere Versuche", "No attempt matches.": "Kein Versuch passt.",
  "None yet.": "Noch keine.",
  "attempt {}": "Versuch {}", "again": "erneut", "to {}": "an {}", "on an open connection": "über eine offene Verbindung", "on a new connection": "über eine neue Verbindung", "{} bytes out, {} in": "{} Bytes gesendet, {} empfangen",
  "lookup": "Namensauflösung", "connect": "Verbindung", "first byte": "erstes Byte", "rest": "Rest",
  "Send past events again": "Frühere Ereignisse erneut senden", "All events of the log": "Alle aufbewahrten Ereignisse", "Which": "Welche", "All that match, also delivered ones": "Alle passenden, auch zugestellte", "Only deliveries that failed": "Nur fehlgeschlagene Zustellungen",
  "Count": "Zählen", "Cancel": "Abbrechen", "No event matches.": "Kein Ereignis passt.", "Send {} again?": "{} erneut senden?", "Send again": "Erneut senden", "{} on the way again.": "{} erneut unterwegs.", "Replay: {} left, started ": "Erneutes Senden: noch {}, begonnen ",
  "Progress of the replay": "Fortschritt des erneuten Sendens", "Stop": "Beenden", "Stopped.": "Beendet.",
  // Fields
  "URL": "URL", "Where Herald sends the events.": "Wohin die Ereignisse gesendet werden.", "Event patterns": "Ereignismuster", "auth.logged_in, auth.*, or *; empty: everything.": "auth.logged_in, auth.* oder *; leer: alles.", "Description": "Beschreibung",
  "Subjects": "Themen", "One per line; empty: any.": "Eines pro Zeile; leer: alle.", "Content filter": "Inhaltsfilter", "Request recipe": "Rezept der Anfrage", "Request and preview": "Anfrage und Vorschau", "Makes the body, headers and signature that a receiver expects.": "Bildet Inhalt, Header und Signatur, die ein Empfänger erwartet.",
  "The plain callback": "Die übliche Anfrage", "Messages and incidents": "Nachrichten und Störungen", "Queues and storage": "Warteschlangen und Speicher", "Signatures of providers": "Signaturen von Anbietern", "A recipe of your own": "Ein eigenes Rezept", "Recipe, as JSON": "Rezept als JSON",
  "Text of the message": "Text der Nachricht", "Empty: type, subject and data. {{ data.amount }} stands for a value.": "Leer: Typ, Thema und Daten. {{ data.amount }} steht für einen Wert.", "Integration key": "Integrationsschlüssel", "Region": "Region", "Such as eu-central-1.": "Zum Beispiel eu-central-1.",
  "Access key id": "Id des Zugangsschlüssels", "Secret access key": "Geheimer Zugangsschlüssel", "Topic ARN": "ARN des Topics", "Event bus": "Event-Bus", "API token": "API-Token", "Stored in the metadata as {}.": "Steht in den Metadaten als {}.",
  "Stored in the metadata as event_bus; empty: default.": "Steht in den Metadaten als event_bus; leer: default.", "Stored as the header Authorization.": "Steht im Header Authorization.",
  "Preview": "Vorschau", "Send as a test": "Als Test senden", "With the saved settings": "Mit den gespeicherten Einstellungen", "Event of the preview": "Ereignis der Vorschau", "A made-up event": "Ein erfundenes Ereignis", "The example of a type": "Das Beispiel eines Typs", "A published event": "Ein gesendetes Ereignis", "The request": "Die Anfrage", "It has no body.": "Sie hat keinen Inhalt.", "The request can't be made.": "Die Anfrage ist nicht möglich.",
  "v1: HMAC-SHA256. v1a: Ed25519. text: for schemes of a recipe.": "v1: HMAC-SHA256. v1a: Ed25519. text: für Verfahren eines Rezepts.", "request not made": "Anfrage nicht möglich", "response refused": "Antwort abgelehnt", "token not issued": "Kein Token erhalten", "Format": "Format", "Order": "Reihenfolge", "Requests at once, at most": "Gleichzeitige Anfragen, höchstens", "1 to 256; default 32.": "1 bis 256; sonst 32.",
  "Requests per second, at most": "Anfragen pro Sekunde, höchstens", "Empty: no limit.": "Leer: unbegrenzt.", "Timeout, in seconds": "Zeitlimit in Sekunden", "1 to 60; default 15.": "1 bis 60; sonst 15.", "Retries after, in seconds": "Wiederholungen nach, in Sekunden",
  "5, 300, 1800, …; empty: the default.": "5, 300, 1800, …; leer: der Standard.", "Lease, in seconds": "Frist in Sekunden", "Removed when not renewed in time; empty: no lease.": "Wird entfernt, wenn nicht rechtzeitig erneuert; leer: keine Frist.",
  "Disabled after failing for, in seconds": "Abgeschaltet nach Fehlern für, in Sekunden", "60 to 31536000; default 432000, five days.": "60 bis 31536000; sonst 432000, fünf Tage.", "Extra headers": "Weitere Header",
  "Name: value, one per line. Values are never shown again.": "Name: Wert, einer pro Zeile. Werte werden nie wieder gezeigt.", "Name: value, one per line.": "Name: Wert, einer pro Zeile.", "Metadata": "Metadaten", "HTTP version": "HTTP-Version", "Verification": "Prüfung",
  "Signature": "Signatur", "Start": "Beginn", "now, earliest, an event's id, or a time.": "now, earliest, die Id eines Ereignisses oder eine Zeit.", "Send the current state first": "Zuerst den aktuellen Zustand senden", "More settings": "Weitere Einstellungen",
  "Entry {} {}": "Eintrag {} {}", "Set: {}. Name one to replace it; “Name:” alone removes it.": "Gesetzt: {}. Nennen Sie einen, um ihn zu ersetzen; „Name:“ allein entfernt ihn.", "Line {}, column {}: {}.": "Zeile {}, Spalte {}: {}.",
  // Events
  "Types or patterns": "Typen oder Muster", "Types: auth.*, order.paid": "Typen: auth.*, order.paid", "Subject": "Thema", "Subject: user:42": "Thema: user:42", "Beginning of the id": "Anfang der Id", "Content": "Inhalt", "From": "Von", "Until": "Bis", "Type": "Typ", "Data": "Daten",
  'Content: {"amount": [{"numeric": [">", 100]}]}': 'Inhalt: {"amount": [{"numeric": [">", 100]}]}', "Any outcome": "Jedes Ergebnis", "A delivery is exhausted": "Eine Zustellung ist aufgegeben", "A delivery is retrying": "Eine Zustellung wird wiederholt",
  "A delivery is dropped": "Eine Zustellung ist verworfen", "Live.": "Live.", "Searching …": "Suche läuft …", "Not live.": "Nicht live.", "Show live events": "Live-Ereignisse zeigen", "No event matches so far.": "Bisher passt kein Ereignis.", "Search older events": "Ältere Ereignisse durchsuchen",
  "No events yet": "Noch keine Ereignisse", "Publish one, from here or from anywhere:": "Sobald eines gesendet wird, erscheint es hier.", "Older events": "Ältere Ereignisse", "more came here than could be followed": "hier kamen mehr, als gezeigt werden konnten",
  "← Events": "← Ereignisse", "Published": "Gesendet", "Id": "Id", "Why did a delegate not get it?": "Warum hat ein Empfänger es nicht erhalten?", "Search a delegate": "Einen Empfänger suchen", "Its description, URL or id": "Beschreibung, URL oder Id", "Explain": "Erklären",
  "matching": "passt", "not matching": "passt nicht", "There are more: search for a longer text.": "Es gibt mehr: Suchen Sie nach einem längeren Text.", "Redeliver": "Erneut zustellen", "Redeliver to all": "An alle erneut zustellen", "Redeliver to failed ones": "An fehlgeschlagene erneut zustellen", "Redeliver to {}?": "An {} erneut zustellen?", "Redeliver to {}": "An {} erneut zustellen",
  "None: the event was erased.": "Keine: Das Ereignis wurde gelöscht.", "None: the event is damaged, and is not delivered.": "Keine: Das Ereignis ist beschädigt und wird nicht zugestellt.", "None: no delegate subscribes to this event.": "Keine: Kein Empfänger abonniert dieses Ereignis.", "{} more of {}": "{} weitere von {}", "Raw": "Roh", "Copy": "Kopieren", "Copied.": "Kopiert.", "Delivered on attempt {}, ": "Zugestellt beim Versuch {}, ", "{} so far": "Bisher {}",
  ", the next ": ", der nächste ", "Not attempted yet.": "Noch nicht versucht.", "Given up after {}, the last one ": "Aufgegeben, {}, der letzte ", "Dropped after {}.": "Verworfen, {}.",
  "The browser does not allow copying here; select the text instead.": "Der Browser erlaubt das Kopieren hier nicht; markieren Sie den Text.",
  "Scheduled": "Geplant", "Later events": "Spätere Ereignisse", "Cancel the event": "Ereignis absagen", "Cancel {}? It is not published.": "{} absagen? Es wird nicht gesendet.", "Cancelled.": "Abgesagt.",
  // Deliveries
  "All that wait or failed": "Alle wartenden und fehlgeschlagenen", "Failed since": "Fehlgeschlagen seit", "Accepted since": "Angenommen seit", "Last error": "Letzter Fehler", "Type or pattern": "Typ oder Muster", "Type: order.*": "Typ: order.*", "To ": "An ", "To all": "An alle",
  "Older deliveries": "Ältere Zustellungen", "No delivery matches.": "Keine Zustellung passt.", "No delivery matches so far.": "Bisher passt keine Zustellung.", "No delivery waits or has failed.": "Keine Zustellung wartet oder ist fehlgeschlagen.", "When": "Wann", "Response": "Antwort", "Reason": "Grund", "deleted": "gelöscht", "Redeliver all": "Alle erneut zustellen",
  "Cancel all": "Alle abbrechen", "Counting …": "Wird gezählt …", "Redeliver {}?": "{} erneut zustellen?", "Cancel {}?": "{} abbrechen?", "Progress": "Fortschritt", "{} of {} cancelled": "{} von {} abgebrochen", "{} of {} on the way again": "{} von {} erneut unterwegs", "; stopped": "; beendet",
  // Types and state
  "Describe a type": "Typ beschreiben", "Events, 24 h": "Ereignisse, 24 h", "events, 24 h": "Ereignisse, 24 h", "Published without a description": "Ohne Beschreibung gesendet", "Attempts that failed": "Fehlgeschlagene Versuche", "More types": "Weitere Typen", "Changed": "Geändert", "no schema": "kein Schema",
  "No event type is described yet": "Noch kein Ereignistyp ist beschrieben", "Types need no description to be published. With one, its meaning is written down, and Herald can check its data.": "Typen brauchen keine Beschreibung. Mit ihr ist die Bedeutung festgehalten, und die Daten können geprüft werden.",
  "not checked": "nicht geprüft", "reported if it does not match": "gemeldet, wenn sie nicht passen", "refused if it does not match": "abgelehnt, wenn sie nicht passen", "Not checked": "Nicht geprüft", "Reported if it does not match": "Gemeldet, wenn sie nicht passen",
  "Refused if it does not match": "Abgelehnt, wenn sie nicht passen", "Checked": "Geprüft", "Data is {}.": "Daten werden {}.", "It has no schema.": "Er hat kein Schema.", "Its latest events": "Seine letzten Ereignisse", "Edit": "Bearbeiten", "Edit {}": "{} bearbeiten", "Delete": "Löschen",
  "Delete the description": "Beschreibung löschen", "Example": "Beispiel", "Schema": "Schema", "None.": "Keines.", "Describe an event type": "Einen Ereignistyp beschreiben", "Such as order.paid.": "Zum Beispiel order.paid.", "Example of its data": "Beispiel der Daten", "Schema of its data": "Schema der Daten",
  "JSON Schema; empty: none.": "JSON Schema; leer: keines.", "Data of published events": "Daten gesendeter Ereignisse", "Formats in the schema": "Formate im Schema", "Saved. Not checked: {}.": "Gespeichert. Nicht geprüft: {}.", "This event type has no description.": "Dieser Ereignistyp hat keine Beschreibung.",
  "Delete the description of {}? Events of this type can still be published; their data is no longer checked.": "Die Beschreibung von {} löschen? Ereignisse dieses Typs können weiter gesendet werden; ihre Daten werden nicht mehr geprüft.",
  "App state": "Zustand der App", "Login status": "Anmeldestatus", "User id": "Id eines Benutzers", "User id: 42": "Id eines Benutzers: 42", "Find": "Finden", "Since ": "Seit ", ", by ": ", durch ", "this event": "dieses Ereignis", "No app state yet": "Noch kein Zustand der App",
  "An app reports its state with an event:": "Eine App meldet ihren Zustand mit einem Ereignis.", "There is no event about this user.": "Es gibt kein Ereignis über diesen Benutzer.", "Latest changes": "Letzte Änderungen", "{}, newest first": "{}, neueste zuerst", " for {}": " für {}",
  // Operators
  "Access key": "Zugangsschlüssel", "Sign in": "Anmelden", "This key is unknown or has expired.": "Dieser Schlüssel ist unbekannt oder abgelaufen.",
  "A key that this server has made begins with hrld_. Its log says where the first one is.": "Ein Schlüssel, den dieser Server erzeugt hat, beginnt mit hrld_. Im Protokoll steht, wo der erste ist.",
  "This link opens the dashboard of the app {}. You are signed in to the app {}, and would be signed out there.": "Dieser Link öffnet die Seiten der App {}. Sie sind bei der App {} angemeldet und würden dort abgemeldet.", "Open {}": "{} öffnen",
  "Pages": "Seiten", "App": "App", "app": "App", "App: {}": "App: {}", "Keyboard help": "Hilfe zur Tastatur", "publish an event": "Ereignis senden", "keys and the server": "Schlüssel und Server",
  "Show": "Anzeigen", "{} not active": "{} nicht aktiv", "The last 15 minutes": "Die letzten 15 Minuten", "Events per second": "Ereignisse pro Sekunde", "Deliveries per second": "Zustellungen pro Sekunde",
  "Success": "Erfolg", "Latency, 95th percentile": "Dauer, 95. Perzentil", "Conditions on the data, in the grammar of a delegate's filter": "Bedingungen für die Daten, wie im Filter eines Empfängers",
  "Nodes": "Knoten", "Node": "Knoten", "Version": "Version", "version": "Version", "Shards": "Shards", "shards": "Shards", "Seen": "Gesehen", "seen": "gesehen", " · shows this page": " · zeigt diese Seite",
  "What moved": "Umgezogen", "from": "von", "To": "Nach", "to": "nach", "gave them": "hat sie abgegeben", "its session had ended": "seine Sitzung war zu Ende",
  "Publish an event": "Ereignis senden", "Templates": "Vorlagen", "something of your own": "etwas Eigenes", "A described type": "Ein beschriebener Typ", "Example of a described type": "Beispiel eines beschriebenen Typs",
  "The event, as JSON": "Das Ereignis als JSON", "Dry run": "Probelauf", "Line {}: ": "Zeile {}: ", "{} would receive it, {} would not": "Erhalten würden es: {}; nicht: {}", "other": "anderer", "others": "andere",
  "Publish the example": "Das Beispiel senden", "Publish one": "Eines senden", "JSON.": "JSON.", "is required": "ist erforderlich",
  "Parts of the server": "Teile des Servers", "Keys": "Schlüssel", "Apps": "Apps", "Changes": "Änderungen", "Storage": "Speicher", "Actions": "Aktionen", "Create": "Erzeugen", "Name": "Name",
  "Keys of the app": "Schlüssel der App", "New key": "Neuer Schlüssel", "New key of the app {}": "Neuer Schlüssel der App {}", "Older keys": "Ältere Schlüssel", "This app has no key.": "Diese App hat keinen Schlüssel.",
  "There is no key: every request is allowed. The first key must allow everything; from then on every request needs a key. Callbacks to loopback addresses then need the setting --allow-networks.": "Es gibt keinen Schlüssel: Jede Anfrage ist erlaubt. Der erste Schlüssel muss alles erlauben; danach braucht jede Anfrage einen. Aufrufe von Loopback-Adressen brauchen dann die Einstellung --allow-networks.",
  "Key": "Schlüssel", "Allows": "Erlaubt", "allows": "erlaubt", "Last used": "Zuletzt benutzt", "last used": "zuletzt benutzt", "Ends": "Endet", "ends": "endet", "Never": "Nie", "never": "nie",
  "In a week": "In einer Woche", "In 90 days": "In 90 Tagen", "In a year": "In einem Jahr", "Who uses it.": "Wer ihn benutzt.", "Publish events": "Ereignisse senden", "Read": "Lesen",
  "Read and manage delegates": "Empfänger lesen und verwalten", "Publish, read and manage": "Senden, lesen und verwalten", "Everything, of all apps": "Alles, in allen Apps",
  "The key": "Der Schlüssel", "The new key": "Der neue Schlüssel", " Keep it where programs keep their secrets.": " Bewahren Sie ihn dort auf, wo Programme ihre Geheimnisse haben.", "Revoke": "Widerrufen",
  "Replace “{}”? The old key works for one more day. {}": "„{}“ ersetzen? Der alte Schlüssel gilt noch einen Tag. {}", "It was last used {}.": "Zuletzt benutzt: {}.", "It was never used.": "Er wurde nie benutzt.",
  "Revoke “{}”? Programs and pages that use it are refused from now on. {}": "„{}“ widerrufen? Programme und Seiten, die ihn benutzen, werden ab jetzt abgewiesen. {}",
  "New app": "Neue App", "Older apps": "Ältere Apps", "Stored": "Gespeichert", "stored": "gespeichert", "Limits": "Grenzen", "limits": "Grenzen", "Made": "Erzeugt", "made": "erzeugt", "Dashboard link": "Link zu den Seiten",
  "A-Z, a-z, 0-9, -, _ and .": "A-Z, a-z, 0-9, -, _ und .", "Webhooks, at most": "Webhooks, höchstens", "Events per second, at most": "Ereignisse pro Sekunde, höchstens", "Bytes that its events may take": "Bytes für ihre Ereignisse, höchstens",
  "Name on the pages of its links": "Name auf den Seiten ihrer Links", "Empty: Herald.": "Leer: Herald.", "Color of buttons": "Farbe der Knöpfe", "#0b5cad; dark enough for white text.": "#0b5cad; dunkel genug für weißen Text.",
  "Logo": "Logo", "PNG, JPEG, GIF or WebP, at most 18 KB.": "PNG, JPEG, GIF oder WebP, höchstens 18 KB.", " There is one.": " Es gibt eines.", "Remove the logo": "Logo entfernen", "Language": "Sprache",
  "Pages that may frame it": "Seiten, die es einbetten dürfen", "Origins, one per line: https://shop.example": "Ursprünge, einer pro Zeile: https://shop.example", "The link": "Der Link", "The dashboard of {}": "Die Seiten von {}",
  " Who has the link can manage the delegates of this app for 24 hours.": " Wer den Link hat, kann die Empfänger dieser App 24 Stunden lang verwalten.",
  "Delete {}? Its delegates, keys and streams end at once, and {} cannot be read any more.": "{} löschen? Empfänger, Schlüssel und Ströme enden sofort, und {} sind nicht mehr lesbar.",
  "Older changes": "Ältere Änderungen", "Nothing was changed yet.": "Noch wurde nichts geändert.", "Change": "Änderung", "Of": "Was", "of": "was", "By": "Wer", "by": "wer",
  " Commits succeed.": " Commits gelingen.", " Commits fail: nothing is accepted.": " Commits schlagen fehl: Nichts wird angenommen.", " of {}": " von {}", ", kept for {}": ", aufbewahrt für {}", "Free in the file": "Frei in der Datei",
  "Write-ahead log": "Write-Ahead-Log", "Last commit": "Letzter Commit", "Last checkpoint": "Letzter Checkpoint", "Last backup": "Letzte Sicherung", "Failed backups": "Fehlgeschlagene Sicherungen",
  "Removed by retention": "Nach Ablauf entfernt", "{} {}, by {}": "{} {}, nach {}", "age": "Alter", "size": "Größe",
  // Messages
  "The connection to the server is lost. Trying again.": "Die Verbindung zum Server ist unterbrochen. Neuer Versuch läuft.", "Connected again.": "Wieder verbunden.", "The server can't be reached.": "Der Server ist nicht erreichbar.", "This page can't be loaded.": "Diese Seite lässt sich nicht laden.", "Try again": "Erneut versuchen", "Something went wrong.": "Etwas ist schiefgegangen.",
  "The server responded with status {}.": "Der Server antwortet mit dem Status {}.", "The response of the server was cut off.": "Die Antwort des Servers brach ab.", "Open this page with a new link.": "Öffnen Sie diese Seite mit einem neuen Link.", "This link has expired. Request a new one.": "Dieser Link ist abgelaufen. Fordern Sie einen neuen an.",
  "a value is missing": "ein Wert fehlt", "this is no value: text needs quotation marks": "kein Wert: Text braucht Anführungszeichen", "expected a name in quotation marks": "ein Name in Anführungszeichen fehlt", "expected a colon after the name": "nach dem Namen fehlt ein Doppelpunkt",
  "expected a comma or }": "ein Komma oder } fehlt", "expected a comma or ]": "ein Komma oder ] fehlt", "this escape does not exist": "diese Escape-Sequenz gibt es nicht", "the text in quotation marks does not end": "der Text in Anführungszeichen endet nicht", "the value ends here, but the text continues": "der Wert endet hier, aber der Text geht weiter",
  // Problems of the server, by the end of their type. Before a detail in English, unless they end with a full stop.
  "invalid": "Ungültig",
  "problem already-published": "Das Ereignis wurde schon gesendet", "problem bad-request": "Die Anfrage lässt sich nicht ausführen", "problem body-too-large": "Das ist mehr, als der Server annimmt", "problem budget-exceeded": "Die Anfrage ist zu aufwendig: Filter oder Schema vereinfachen.",
  "problem busy": "Der Server ist ausgelastet. Versuchen Sie es in einigen Sekunden erneut.", "problem conflict": "Ein anderer Empfänger sendet dieselben Anfragen", "problem default-app": "Die App default lässt sich nicht löschen oder umbenennen.", "problem delegate-gone": "Der Empfänger hat mit 410 geantwortet. Setzen Sie ihn zuerst fort.", "problem delegate-paused": "Der Empfänger ist angehalten", "problem lease-ended": "Die Ereignisse sind wieder frei: die Frist ist abgelaufen", "problem wrong-kind": "Dieser Empfänger ist von anderer Art", "problem event-damaged": "Das Ereignis ist beschädigt",
  "problem expectation-failed": "Die Erwartung ist nicht erfüllbar", "problem forbidden": "Das ist hier nicht erlaubt", "problem foreign-origin": "Die Anfrage kommt von der Seite einer anderen Website", "problem header-fields-too-large": "Die Header sind zu groß", "problem idempotency-key-reused": "Der Idempotency-Key gehört zu einer anderen Anfrage",
  "problem internal": "Interner Fehler des Servers", "problem last-admin-key": "Der letzte Schlüssel mit admin bleibt", "problem malformed-json": "Kein gültiges JSON", "problem malformed-request": "Die Anfrage ist fehlerhaft", "problem method-not-allowed": "Diese Methode ist hier nicht erlaubt", "problem method-unknown": "Diese Methode ist unbekannt",
  "problem misdirected-request": "Der Server bedient diesen Host nicht", "problem name-taken": "Der Name gehört einer anderen App", "problem no-lease": "Der Empfänger hat keine Frist", "problem no-randomness": "Das Geheimnis ließ sich nicht erzeugen. Versuchen Sie es erneut.", "problem not-acceptable": "Diese Darstellung gibt es nicht",
  "problem not-found": "Nicht gefunden", "problem precondition-failed": "Es wurde inzwischen geändert. Öffnen Sie es erneut.", "problem quota-exceeded": "Der Speicher der App ist aufgebraucht", "problem rate-limited": "Zu viele Ereignisse", "problem starting": "Der Server startet. Versuchen Sie es in einigen Sekunden erneut.",
  "problem stopping": "Der Server wird beendet. Versuchen Sie es in einigen Sekunden erneut.", "problem storage-full": "Der Datenträger des Servers ist voll. Nichts wurde geändert.", "problem storage-unavailable": "Der Speicher des Servers ist nicht erreichbar", "problem target-too-long": "Die Adresse ist zu lang", "problem too-many": "Eine Grenze ist erreicht",
  "problem too-many-requests": "Zu viele Anfragen. Versuchen Sie es gleich erneut.", "problem too-many-streams": "Zu viele offene Ströme. Versuchen Sie es später erneut.", "problem unauthorized": "Die Anmeldung gilt nicht mehr. Öffnen Sie einen neuen Link.", "problem unsupported-media-type": "Diese Art von Inhalt wird nicht angenommen",
  "problem unverified": "Die Adresse ist noch nicht geprüft", "problem validation": "Die Eingaben sind nicht gültig", "problem version-not-supported": "Diese Version von HTTP wird nicht unterstützt",
  // Why a delegate gets no event, by the setting
  "clause events": "Kein Muster passt zum Typ.", "clause subjects": "Keines seiner Themen passt.", "clause filter": "Der Inhaltsfilter passt nicht", "clause start": "Das Ereignis war vor der Eintragung.", "clause status": "Sein Zustand erlaubt keine Zustellung",
};

/// The server's sentences for the state of a delegate or of a delivery. Each `{}` is a value. The longer one of two that match is first.
const reasons = {
  "paused by request; events are kept until it is resumed": "auf Wunsch angehalten; Ereignisse werden bis zum Fortsetzen aufbewahrt",
  "its receiver has not shown yet that it wants the callbacks": "das Programm hat noch nicht bestätigt, dass es die Aufrufe haben will",
  "its receiver fails; one event at a time is tried until one succeeds": "das Programm antwortet mit Fehlern; je ein Ereignis wird versucht, bis eines gelingt",
  "disabled; POST …/resume begins again where it stopped": "abgeschaltet; „Fortsetzen“ beginnt dort, wo es aufgehört hat",
  "its receiver responded with 410; POST …/resume starts it again": "das Programm hat mit 410 geantwortet; „Fortsetzen“ beginnt von Neuem",
  "the receiver responded with the status 410": "das Programm hat mit dem Status 410 geantwortet",
  "the receiver requested it by the header webhook-delivery: disable": "das Programm hat es mit dem Header webhook-delivery: disable verlangt",
  "stored values of it can't be read; set them again, then POST …/resume: {}": "gespeicherte Werte sind nicht lesbar; setzen Sie sie neu, dann „Fortsetzen“: {}",
  "it failed for {} s (disable_after_seconds); the last time: {}": "{} s lang schlug alles fehl (disable_after_seconds); zuletzt: {}",
  "the address was not verified: {}; resume it to try again": "die Adresse wurde nicht bestätigt: {}; „Fortsetzen“ versucht es erneut",
  "the address was not verified: {}": "die Adresse wurde nicht bestätigt: {}",
  "the response to OPTIONS has no WebHook-Allowed-Origin that is * or names this service": "der Antwort auf OPTIONS fehlt ein WebHook-Allowed-Origin, der * ist oder diesen Dienst nennt",
  "the body of the response does not contain the challenge": "die Antwort enthält den gesendeten Wert nicht",
  "status {}": "Status {}",
  "the delegate is {}: {}": "der Empfänger ist im Zustand „{}“: {}",
  "the delegate was deleted": "der Empfänger wurde gelöscht",
  "the retry schedule is used up": "alle Wiederholungen sind aufgebraucht",
  "the retry schedule is used up, or the recipe makes no request of the event: see the last attempt": "alle Wiederholungen sind aufgebraucht, oder das Rezept ergibt keine Anfrage: siehe den letzten Versuch",
  "the delegate was changed, and did not want the event any more when it was to be tried again": "der Empfänger wurde geändert und wollte das Ereignis bei der Wiederholung nicht mehr",
  "the event is damaged in the database": "das Ereignis ist beschädigt",
  "the receiver responded with 410: the address no longer exists": "das Programm hat mit 410 geantwortet: die Adresse gibt es nicht mehr",
  "ended by request, the operator's or the receiver's": "auf Wunsch beendet, des Betreibers oder des Programms",
  "once it is resumed": "nach dem Fortsetzen",
  "none of its patterns matches the type": "kein Muster passt zum Typ",
  "the event is about none of its subjects": "keines seiner Themen passt",
  "it does not match the event": "er passt nicht zum Ereignis",
  "the event belongs to another app": "das Ereignis gehört einer anderen App",
  "the event has been erased": "das Ereignis wurde gelöscht",
  "the event is addressed to another delegate": "das Ereignis ist für einen anderen Empfänger",
  "expected {}, found {}": "verlangt: {}; gefunden: {}",
  "the event was published before it was registered": "das Ereignis wurde vor der Eintragung gesendet",
  "it is {}: nothing is sent": "im Zustand „{}“ wird nichts gesendet",
  // The class of a failure, and its detail.
  "{}: {}": "{}: {}",
};

const patterns = Object.entries(reasons).map(([sentence, words]) =>
  [new RegExp(`^${sentence.replace(/[*.()]/g, "\\$&").replaceAll("{}", "(.*?)")}$`, "s"), words]);

/// A sentence of the server in German. A value in it is a status, an error, another sentence, or a text that stays as it is.
export function reason(text) {
  for (const [pattern, words] of patterns) {
    const values = pattern.exec(text)?.slice(1).map(value);
    if (values) return words.replaceAll("{}", () => values.shift());
  }
  return text;
}

function value(text) {
  const name = text.replaceAll("_", " ");
  return Object.hasOwn(german, name) ? german[name] : reason(text);
}

"""Sentences as people write them: half of them destroy what nobody can bring back."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.guardrails.detectors import grammar, verbs
from holdfast.guardrails.detectors.destroying_sentences import asks_to_destroy
from holdfast.guardrails.detectors.destruction import is_destructive
from tests.guardrails.latest_sentences import (
    NINTH_DESTRUCTIVE,
    NINTH_HARMLESS,
    SEVENTH_DESTRUCTIVE,
    SEVENTH_HARMLESS,
    TENTH_DESTRUCTIVE,
    TENTH_HARMLESS,
)
from tests.guardrails.long_tasks import EIGHTH_DESTRUCTIVE, EIGHTH_HARMLESS
from tests.guardrails.more_sentences import (
    FIFTH_DESTRUCTIVE,
    FIFTH_HARMLESS,
    FOURTH_DESTRUCTIVE,
    FOURTH_HARMLESS,
    SIXTH_DESTRUCTIVE,
    SIXTH_HARMLESS,
)
from tests.guardrails.sentences import (
    SECOND_DESTRUCTIVE,
    SECOND_HARMLESS,
    THIRD_DESTRUCTIVE,
    THIRD_HARMLESS,
)

DESTRUCTIVE = """
Remove the users table.
Please delete the repo, we don't need it any more.
Reset the database to an empty state.
Clear the whole orders table before the demo.
Get rid of every user account created before 2020.
Wipe the production server and start from scratch.
Could you purge all customer data for me?
Drop everything in the analytics schema.
Throw away all backups older than today.
Delete every file in the shared folder.
Nuke the staging cluster.
Tear down the whole infrastructure.
Shut down all servers tonight.
Terminate all instances in eu-west-1.
Erase the disk of the old laptop.
I want the customer database gone.
Have all accounts deleted by tomorrow.
Empty the S3 bucket and remove it.
Delete all branches except main.
Delete the main branch.
Remove every record of 2023 from the warehouse.
Kill all pods in the cluster and delete their volumes.
Blow away the data directory and all backups.
Truncate the events table.
Overwrite the backup with zeros.
Make sure that all logs are wiped.
Clean out the mailbox completely.
Destroy the test results and all customer records.
Please drop the old payments database.
Delete the customers from the database.
Uninstall the database from the server.
Remove all files, then log out.
Get rid of the repository.
Delete our tenant.
Wipe it all.
Erase all messages of the support team.
Scrap the entire project folder and its history.
Discard all commits since Monday.
Run rm -rf on the build server.
git push --force to the release branch
Reset the hard drive.
Dispose of the customer records.
Eliminate every trace of user data in the archive.
Zap the volume that postgres uses.
We should delete the whole system.
Flush all queues and remove all messages.
Purge the archive.
Please delete the users' accounts and all their data.
Format the D: drive.
The old cluster must be destroyed.
""".strip().splitlines()

HARMLESS = """
Add a delete button to the table.
Explain how to delete a database safely.
Fix the bug where the reset button does nothing.
Remove the unused import from utils.py.
Drop support for Python 3.8.
Clear the search field when the dialog opens.
Write a test that deletes a user and checks the response.
Why was the users table deleted last week?
Never delete the production database.
Make sure we don't drop any tables during the migration.
Remove the table from the report, it is too wide.
Delete the trailing comma in the config file.
Reset my view to the default zoom.
Show a warning before deleting all users.
Rename the orders table to purchases.
Back up the database and store it in the bucket.
List all users who signed up today.
Clean up the wording of the second paragraph.
Empty lines at the end of the file should be allowed.
Drop me a line when the deployment is done.
Count the rows in the customers table.
Remove the table of contents from the readme.
Kill the process on port 8080.
Delete the temporary test database when the tests are over.
Document the endpoint that removes all sessions.
Restore all files from the backup.
The delete endpoint should answer with 204.
Add a column to the users table.
Clear the cache of the browser.
What happens when I delete a repository?
Remove duplicates from the list of names.
Trim the whitespace of every line.
Reset the counter after each round.
Prevent people from deleting all records by accident.
Translate the word delete into German.
Find out who can drop tables in production.
Take the old logo off the page.
Delete the second sentence.
Remove the border around the table header.
Archive the report and mail it to all customers.
Does the platform delete all data when I leave?
Turn the whole list into a table.
Add an option to clear all filters.
Remove the word "very" from all paragraphs.
Delete my comment on line 12.
Summarise every document in the folder.
Move all files to the archive folder.
Write down how we wipe disks at the end of their life.
Clear up the misunderstanding about the server costs.
Drop the last argument of the function.
""".strip().splitlines()

MAX_WRONG = 2


@pytest.mark.parametrize(
    ("destructive", "harmless"),
    [
        pytest.param(DESTRUCTIVE, HARMLESS, id="first"),
        pytest.param(SECOND_DESTRUCTIVE, SECOND_HARMLESS, id="second"),
        pytest.param(THIRD_DESTRUCTIVE, THIRD_HARMLESS, id="third"),
        pytest.param(FOURTH_DESTRUCTIVE, FOURTH_HARMLESS, id="fourth"),
        pytest.param(FIFTH_DESTRUCTIVE, FIFTH_HARMLESS, id="fifth"),
        pytest.param(SIXTH_DESTRUCTIVE, SIXTH_HARMLESS, id="sixth"),
        pytest.param(SEVENTH_DESTRUCTIVE, SEVENTH_HARMLESS, id="seventh"),
        pytest.param(EIGHTH_DESTRUCTIVE, EIGHTH_HARMLESS, id="eighth, of several sentences"),
        pytest.param(NINTH_DESTRUCTIVE, NINTH_HARMLESS, id="ninth"),
        pytest.param(TENTH_DESTRUCTIVE, TENTH_HARMLESS, id="tenth"),
    ],
)
def test_sentences_are_told_apart(destructive: list[str], harmless: list[str]) -> None:
    """Of a hundred sentences, half of them harmless, two may be taken for what they aren't."""
    # GR-03
    assert (len(destructive), len(harmless)) == (50, 50)
    wrong = [said for said in destructive if not is_destructive(said)]
    wrong += [said for said in harmless if is_destructive(said)]

    assert wrong[MAX_WRONG:] == []


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("What does git reset --hard do?", False),
        ("Explain how DROP TABLE works in PostgreSQL", False),
        ("What does git reset --hard do? Run it: git reset --hard", True),
        ("Explain how it works and drop table users", True),
        ("Translate the page, then delete all users", True),
        ("Translate 'delete all users'", False),
        ("Remove the repository acme/legacy", True),
        ("Remove the table header", False),
        ("Delete order 12", False),
        ("Permanently delete order 12", True),
        ("Translate: 'delete all users'. Then run it.", True),
        ("How do I delete all users? Please do not do it.", False),
        ("Explain rm -rf / and run it", True),
        ("Never run rm -rf / on this host", False),
        ("Run `git push --force`", True),
        ("Add git push --force to the blocked commands", False),
        ("The error says: cannot drop table users", False),
        ("explain rm -rf x\n" * 200, True),
        ("Don't archive or delete the invoices", False),
        ("Don't forget to delete the invoices", True),
        ("If a user asks to delete all invoices, tell me", False),
        ("If nobody objects, delete all invoices", True),
        ("The invoices that can be deleted are listed here", False),
        ("The invoices can be deleted", True),
        ("I'd be glad if you deleted the invoices", True),
        ("Find the log files and remove them", True),
        ("Find the typos and remove them", False),
        ("Perform a complete wipe of the disk", True),
        ("What does a complete wipe of the disk cost?", False),
        ("remvoe all invoices", True),
        ("Delete customer no. 88", True),
        ("Run DELETE on every row of the table", True),
        ("Delete key: find out why it doesn't work", False),
        ("docker run --rm ubuntu", False),
        ("Start the deletion job", True),
        ("Drop the file into the shared folder", False),
        ("Delete no records", False),
        ("I'd rather you deleted the account", True),
        ("Reset the routers to what the factory had", True),
        ("Create a ticket: remove all expired certificates", False),
        ("Remove his access to everything and delete the mailbox", True),
        ("Explain how to find and delete old invoices", False),
        ("The contract says that invoices must be deleted", False),
        ("I want all drafts, invoices and contracts deleted", True),
        ("The portal should be closed and its database deleted", True),
        ("The portal should be described and its database drawn", False),
        ("When they pass, delete the branches", True),
        ("When they pass delete the branches", True),
        ("When they press delete the branches are listed", False),
        ("In that case wipe the disk", True),
        ("Do not, under any circumstances, wipe the disk", False),
        ("Nothing may remain of the customer's data", True),
        ("Nothing may remain unexplained in the text", False),
        ("Leave no copy of the database", True),
        ("Leave no doubt that the database is safe", False),
        ("Keep only the last three backups", True),
        ("Keep only the last three words", False),
        ("The customer's records must no longer be kept", True),
        ("Card numbers must not be kept in logs: write a check for it", False),
        ("Remove the volume pgdata", True),
        ("Remove the user interface", False),
        ("Take all the photos off the server", True),
        ("Take all the photos off the page", False),
        ("Schedule the key for deletion", True),
        ("Put the deletion of the key on the agenda", False),
        ("Run wipe_all.sh on the nodes", True),
        ("Show wipe_all.sh to the team", False),
        ("Set up a cron job that deletes everything in /srv", True),
        ("Write a function that deletes everything in /srv", False),
        ("Restore the dump over the live database", True),
        ("Import the rows over the network", False),
        ("How about deleting the old backups?", True),
        ("What do you know about deleting the old backups?", False),
        ("I ask for the deletion of all my data", True),
        ("He asks for the deletion of all his data", False),
        ("The account was misused. Lock it, and after that delete it", True),
        ("Shred the cheese, wipe the counter and clear the plates", False),
        ("Purge jobs are slow: find out why", False),
        ("Set all balances to zero", True),
        ("Set all margins to zero", False),
        ("Anonymise the customers in the CRM for good", True),
        ("Anonymise the names in the interview", False),
        ("Wipe the tables after lunch", False),
        ("Wipe the tables after the import", True),
        ("Dispose of the records: how?", False),
        ("It's time we deleted the backups", True),
        ("These logs need deleting", True),
        ("These logs need sorting", False),
        ("Old backups: delete", True),
        ("Old backups: explain", False),
        ("Restore the phones to factory settings", True),
        ("Restore the photos of the factory", False),
        ("Rid the CRM of dead leads", True),
        ("Rid the text of long sentences", False),
        ("Explain archive and delete", False),
        ("Can my account be deleted please?", True),
        ("Can an account be deleted?", False),
        ("Run the cleanup that removes unreferenced blobs from the store", True),
        ("Arrange for the secure disposal of the drives", True),
        ("Nothing may be left out of the report", False),
        ("Make sure nothing remains open in the ticket system", False),
        ("Make sure nothing remains in the ticket system", True),
        ("Get the data out of the PDF", False),
        ("Get the customers out of the database", True),
        ("Drop all participants a note", False),
        ("These letters have to go out today", False),
        ("These letters have to go today", True),
        ("Fill all empty cells in the table", False),
        ("Keep only rows with a price in the chart", False),
        ("What is left on the old host can be deleted", True),
        ("What must be deleted on the old host", False),
        ("The rooms are still in the booking system, please take them off", True),
        ("The posters are still in the hall, please take them off", False),
        ("By no means delete the database", False),
        ("By all means delete the database", True),
        ("The logs had better be deleted", True),
        ("The logs had to be deleted", False),
        ("I'd suggest removing all guest users", True),
        ("She suggests removing all guest users", False),
        ("I would appreciate the deletion of my account", True),
        ("I would appreciate a story of the deletion of an account", False),
        ("Remove the account of Tim", True),
        ("Remove db-replica-2", True),
        ("Remove font-size-2", False),
        ("Scrap the design and propose three new tables", False),
        ("Scrap the old reports and invoices", True),
        ("The collector should remove all files of the run", False),
        ("The agent should remove all files of the run", True),
        ("Remove the customers from the response schema", False),
    ],
)
def test_a_question_is_no_task(text: str, asks: bool) -> None:
    """Who asks what a command does wants none; what follows on the question may be one."""
    # GR-03
    assert is_destructive(text) is asks


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Delete the draft, then send it.", False),
        ("Delete the draft, and the whole database.", True),
        ("delete " * 50_000, False),
        ("delete " * 50_000 + "database", True),
        ("want " + "deleted " * 50_000, False),
        ("remove x" + " and" * 50_000 + " database", False),
    ],
    ids=["a comma", "a comma and more", "verbs", "verbs and a thing", "wishes", "ands"],
)
@pytest.mark.timeout(60)
def test_every_sentence_is_read_to_its_end(text: str, asks: bool) -> None:
    """However long it is, whatever of it is a verb: in a time that grows no faster than it."""
    assert asks_to_destroy(text) is asks


PIECES = sorted(
    {*grammar.ENDS, *grammar.AND, *grammar.TELLING, *grammar.OPENERS, *verbs.DONE, *verbs.VERBS}
)
MARKS = (",", ".", ":", "?", "")


@pytest.mark.timeout(60)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(MARKS)), max_size=20))
@example([("drafts", ","), ("they", ""), ("can", ""), ("go", "")])
@example([("be", ""), ("evict", " :"), ("delete", ""), ("deleted", ""), ("deleted", " users")])
def test_whatever_is_said_is_answered(said: list[tuple[str, str]]) -> None:
    """No order of its own words is read for ever, and none breaks it."""
    # GR-03
    text = " ".join(word + mark for word, mark in said)

    assert asks_to_destroy(text) in {True, False}
